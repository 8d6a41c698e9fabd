#include "scheduler/monitor/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

namespace detol::inline scheduler {
namespace {

constexpr std::array<std::string_view, 5> kColors = {"", "\033[1m", "\033[2m", "\033[32m",
                                                     "\033[33m"};

}  // namespace

int width_of(const Line& line) {
  int width = kGap * (static_cast<int>(line.size()) - 1);
  for (const Piece& piece : line) width += columns_of(piece.text);
  return width;
}

std::string styled(const std::string& text, Style style, const Screen& screen) {
  const std::string_view color = kColors[static_cast<std::size_t>(style)];
  return screen.color && !color.empty() ? fmt::format("{}{}\033[0m", color, text) : text;
}

std::string spaces(int count) {
  return std::string(static_cast<std::size_t>(std::max(0, count)), ' ');
}

std::string laid_out(Line line, const Screen& screen) {
  const int width = screen.columns - 1;
  for (Piece& piece : line)
    piece.text = fitted(piece.text, std::numeric_limits<int>::max(), screen.utf8);
  while (line.size() > 1 && width_of(line) > width)
    line.erase(std::ranges::max_element(line.rbegin(), line.rend(), {}, &Piece::rank).base() - 1);
  int slack = std::min(width, kLongestLine) - width_of(line);
  std::string text;
  for (const Piece& piece : line) {
    if (&piece != &line.front()) text += spaces(kGap);
    if (piece.at_right) text += spaces(std::exchange(slack, 0));
    text += styled(fitted(piece.text, width, screen.utf8), piece.style, screen);
  }
  return text;
}

std::string padded(const std::string& text, int width, bool at_right) {
  const std::string space = spaces(width - columns_of(text));
  return at_right ? space + text : text + space;
}

}  // namespace detol::inline scheduler

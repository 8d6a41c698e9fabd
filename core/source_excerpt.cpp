#include "core/source_excerpt.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "core/file.h"

namespace detol::inline core {
namespace {

struct Place {
  std::string file;
  std::size_t line = 0, column = 0;  // from 1
};

// Reads a number and the ':' behind it from the front of `text`; 0 if there is none.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::size_t size = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || size >= text.size() || text[size] != ':') return 0;
  text.remove_prefix(size + 1);
  return number;
}

std::optional<Place> place_in(std::string_view message) {
  for (std::size_t colon = message.find(':'); colon != std::string_view::npos;
       colon = message.find(':', colon + 1)) {
    std::string_view rest = message.substr(colon + 1);
    const std::size_t line = take_number(rest);
    const std::size_t column = line > 0 ? take_number(rest) : 0;
    if (column > 0) return Place{std::string(message.substr(0, colon)), line, column};
  }
  return std::nullopt;
}

// Returns a line without its end; nullopt if the text has not so many.
std::optional<std::string_view> line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

std::string without_tabs(std::string_view text) {
  std::string spaced(text);
  for (char& c : spaced) {
    if (c == '\t') c = ' ';
  }
  return spaced;
}

// Returns how many bytes of `before`, the text before the column, are skipped so that the column is seen.
std::size_t skipped_bytes(std::string_view before, int columns) {
  if (columns_of(before) < columns) return 0;
  std::size_t from = before.size();
  while (from > 0 && columns_of(before.substr(from)) < columns / 2) --from;
  while (from < before.size() && (static_cast<unsigned char>(before[from]) & 0xC0) == 0x80) ++from;
  return from;
}

}  // namespace

std::string source_excerpt(std::string_view message, const Screen& screen) {
  constexpr std::size_t kMostBytes = 1 << 20;
  const std::optional<Place> place = place_in(message);
  std::error_code ignored;
  if (!place || !std::filesystem::is_regular_file(place->file, ignored)) return {};
  const auto text = read_file(place->file, kMostBytes);
  const auto line = text ? line_of(*text, place->line) : std::nullopt;
  if (!line || place->column > line->size() + 1 || text->find('\0') != std::string::npos) return {};
  const std::string shown = without_tabs(*line);
  const std::string number = fmt::format("{} | ", place->line);
  const int columns = screen.columns - 1 - static_cast<int>(number.size());
  const std::string_view before = std::string_view(shown).substr(0, place->column - 1);
  const std::size_t from = skipped_bytes(before, columns);
  return fmt::format("{}{}\n{:>{}}{:>{}}\n", number,
                     fitted(std::string_view(shown).substr(from), columns, screen.utf8), "| ",
                     number.size(), "^", columns_of(before.substr(from)) + 1);
}

}  // namespace detol::inline core

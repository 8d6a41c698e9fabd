#include "core/terminal.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cwchar>
#include <fstream>

// NOLINTBEGIN(concurrency-mt-unsafe): no thread changes the environment.

namespace detol::inline core {
namespace {

constexpr std::size_t kMostRows = 1000;  // at most so many are read from a state file

std::string_view environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// Returns whether the first of these variables that is set names UTF-8.
bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string text(environment(name));
    if (text.empty()) continue;
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text.ends_with("utf-8") || text.ends_with("utf8") ||
           text.find("utf-8@") != std::string::npos;
  }
  return false;
}

// Utf8Locale: while one lives, the thread's multibyte functions read UTF-8, whatever the locale.
class Utf8Locale {
 public:
  Utf8Locale() : before_(::uselocale(utf8())) {}
  ~Utf8Locale() { ::uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t kUtf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t());
    return kUtf8;
  }

  locale_t before_;
};

// Glyph: the first character of a text.
struct Glyph {
  std::string_view bytes;
  int columns = 0;  // -1: not printable
};

// Returns the colour sequence, such as "\033[1;32m", that a text begins with; empty if none does.
std::string_view color_at_front(std::string_view text) {
  if (!text.starts_with("\033[")) return {};
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? text.substr(0, end + 1)
                                                           : std::string_view();
}

// Returns the first character. REQUIRES: a Utf8Locale lives; the text is not empty.
Glyph first_glyph(std::string_view text) {
  wchar_t character = 0;
  std::mbstate_t state{};
  const std::size_t size = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (size == 0 || size > text.size()) return {text.substr(0, 1), -1};
  return {text.substr(0, size), ::wcwidth(character)};
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;  // the terminal is gone; the study continues
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Screen screen_at(int fd, bool color) {
  Screen screen{.utf8 = is_utf8_locale(), .color = color};
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.columns = size.ws_col;
    screen.rows = size.ws_row;
  }
  return screen;
}

bool is_live_terminal(int fd) {
  const std::string_view terminal = environment("TERM");
  return ::isatty(fd) == 1 && !terminal.empty() && terminal != "dumb" && environment("CI").empty();
}

bool wants_color(std::string_view word, int fd) {
  if (word != "auto") return word == "always";
  return ::isatty(fd) == 1 && environment("NO_COLOR").empty();
}

int columns_of(std::string_view text) {
  const Utf8Locale utf8;
  int columns = 0;
  while (!text.empty()) {
    if (const std::string_view color = color_at_front(text); !color.empty()) {
      text.remove_prefix(color.size());
      continue;
    }
    const Glyph glyph = first_glyph(text);
    columns += glyph.columns < 0 ? 1 : glyph.columns;
    text.remove_prefix(glyph.bytes.size());
  }
  return columns;
}

std::string fitted(std::string_view text, int columns, bool utf8) {
  if (columns <= 0) return {};
  const Utf8Locale locale;
  const int dots = std::min(columns, utf8 ? 1 : 3);
  std::string all, cut;  // `cut` is what fits before an ellipsis
  int width = 0;
  for (std::string_view rest = text; !rest.empty();) {
    Glyph glyph = first_glyph(rest);
    rest.remove_prefix(glyph.bytes.size());
    const bool is_ascii = glyph.bytes.size() == 1;
    if (glyph.columns < 0 || (!utf8 && !is_ascii)) glyph = {"?", 1};
    width += glyph.columns;
    all += glyph.bytes;
    if (width <= columns - dots) cut = all;
    if (width > columns)
      return cut + (utf8 ? "…" : std::string(static_cast<std::size_t>(dots), '.'));
  }
  return all;
}

Painter::Painter(int fd, pid_t owner, std::filesystem::path state_file)
    : fd_(fd), owner_(owner), state_file_(std::move(state_file)) {
  if (state_file_.empty()) return;
  std::size_t rows = 0;
  if (std::ifstream(state_file_) >> rows) widths_.resize(std::min(rows, kMostRows));
}

void Painter::draw(const std::vector<std::string>& lines, const Screen& screen) {
  if (!is_in_foreground()) {
    widths_.clear();  // the cursor will be elsewhere: start a new frame there
    lines_.clear();
    return;
  }
  const bool is_same_size = screen.columns == screen_.columns && screen.rows == screen_.rows;
  if (is_same_size && lines == lines_) return;
  std::string bytes = "\r";
  if (const int rows = rows_above(screen); rows > 0) bytes += fmt::format("\033[{}A", rows);
  for (const std::string& line : lines) bytes += line + "\033[K\r\n";
  bytes += "\033[J";
  write_all(fd_, bytes);
  std::vector<int> widths;
  for (const std::string& line : lines) widths.push_back(columns_of(line));
  lines_ = lines;
  screen_ = screen;
  const bool is_known = widths.size() == widths_.size();
  widths_ = std::move(widths);
  if (!is_known && !state_file_.empty())
    std::ofstream(state_file_, std::ios::trunc) << widths_.size();
}

bool Painter::is_in_foreground() const {
  const pid_t front = ::tcgetpgrp(fd_);
  return front < 0 || front == ::getpgid(owner_);
}

// Counts rows, as a terminal that became narrower wraps lines that are now too long.
int Painter::rows_above(const Screen& screen) const {
  int rows = 0;
  for (const int width : widths_)
    rows += std::max(1, (width + screen.columns - 1) / screen.columns);
  return std::min(rows, screen.rows - 1);
}

}  // namespace detol::inline core

// NOLINTEND(concurrency-mt-unsafe)

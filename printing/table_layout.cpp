#include "printing/table_layout.h"

#include <algorithm>
#include <numeric>

#include "core/log.h"
#include "core/table.h"
#include "core/terminal.h"

namespace detol::inline printing {
namespace {

std::string_view title_of(const Table& table, std::size_t column) {
  const std::size_t begin = column == 0 ? 0 : table.ends[column - 1];
  return std::string_view(table.words).substr(begin, table.ends[column] - begin);
}

// Returns the shortest end of each name, at its dots, that no other name has.
std::vector<std::string> short_names(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    std::string shortest = name;
    for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = name.rfind('.', dot - 1)) {
      const std::string end = name.substr(dot);
      const auto has_end = [&](const std::string& other) {
        return other.ends_with(end) || "." + other == end;
      };
      if (std::ranges::count_if(names, has_end) > 1) continue;
      shortest = end.substr(1);
      break;
    }
    all.push_back(shortest);
  }
  return all;
}

// Layout: which columns of a table are printed, under which names, and how wide.
struct Layout {
  std::vector<std::size_t> columns;
  std::vector<std::string> titles;  // by column
  std::vector<std::size_t> widths;  // by column
};

constexpr std::size_t kGap = 2, kMostOfAWord = 40;

// Leaves out the last columns, and cuts long words, until a line takes at most `width` columns.
void fit(Layout& layout, std::size_t width) {
  const auto line = [&] {
    std::size_t sum = 0;
    for (const std::size_t column : layout.columns) sum += layout.widths[column] + kGap;
    return sum;
  };
  if (line() > width + kGap) {
    for (std::size_t& one : layout.widths) one = std::min(one, kMostOfAWord);
  }
  std::string left_out;
  while (line() > width + kGap && layout.columns.size() > 1) {
    const std::string& title = layout.titles[layout.columns.back()];
    left_out = left_out.empty() ? title : title + ", " + left_out;
    layout.columns.pop_back();
  }
  if (!left_out.empty())
    log_info("columns that do not fit: {} (--columns NAMES, or -f csv)", left_out);
}

Result<Layout> layout_of(const Table& table, const PrintStyle& style) {
  const std::size_t count = table.widths.size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(title_of(table, i));
  Layout layout{
      .columns = std::vector<std::size_t>(count), .titles = names, .widths = table.widths};
  std::iota(layout.columns.begin(), layout.columns.end(), 0);
  if (!style.columns.empty()) {
    DETOL_ASSIGN(layout.columns, places_of(style.columns, names));
  }
  if (style.width == 0) return layout;
  layout.titles = short_names(names);
  for (std::size_t i = 0; i < count; ++i)
    layout.widths[i] = std::max(table.body_widths[i], width_of(layout.titles[i]));
  if (style.columns.empty()) fit(layout, static_cast<std::size_t>(style.width));
  return layout;
}

}  // namespace

std::size_t width_of(std::string_view word) {
  return static_cast<std::size_t>(
      std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void append_padded(std::string& line, std::string_view word, std::size_t width, bool right) {
  const std::size_t space = width - std::min(width, width_of(word));
  if (right) line.append(space, ' ');
  line += word;
  if (!right) line.append(space, ' ');
}

std::string bold(const std::string& text, bool color) {
  return color ? "\033[1m" + text + "\033[0m" : text;
}

Result<std::vector<std::size_t>> places_of(const std::vector<std::string>& wanted,
                                           const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  for (const std::string& word : wanted) {
    auto at = std::ranges::find(names, word);
    if (at == names.end())
      at = std::ranges::find_if(
          names, [&](const std::string& name) { return name.ends_with("." + word); });
    if (at == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      return fail(ErrorCode::kUsage, "--columns: " + unknown_name("column", word, known));
    }
    places.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  return places;
}

Result<void> write_table(const Table& table, const PrintStyle& style, const Sink& sink) {
  DETOL_ASSIGN(const Layout layout, layout_of(table, style));
  const std::size_t count = table.widths.size();
  for (std::size_t first = 0; first < table.ends.size(); first += count) {
    std::string line;
    for (const std::size_t column : layout.columns) {
      const std::size_t i = first + column, begin = i == 0 ? 0 : table.ends[i - 1];
      std::string_view word = std::string_view(table.words).substr(begin, table.ends[i] - begin);
      if (first == 0) word = layout.titles[column];
      const std::size_t width = layout.widths[column];
      if (column != layout.columns.front()) line.append(kGap, ' ');
      const bool is_cut = width_of(word) > width;
      append_padded(line, is_cut ? fitted(word, static_cast<int>(width), true) : std::string(word),
                    width, table.right[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    DETOL_TRY(sink((first == 0 ? bold(line, style.color) : line) + "\n"));
  }
  return {};
}

}  // namespace detol::inline printing

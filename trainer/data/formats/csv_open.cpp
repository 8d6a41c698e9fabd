#include "trainer/data/formats/csv_open.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/table.h"
#include "trainer/data/table_look.h"

namespace detol::inline trainer {
namespace {

constexpr std::string_view kUnnamed = "column_";  // and its place

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::string_view first_line_in(std::string_view text) {
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

std::string_view without_first_line(std::string_view text) {
  return text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
}

// Returns the separator that a first line `sep=;` names, as Excel writes and reads it.
std::optional<char> separator_line(std::string_view head) {
  std::string_view line = first_line_in(head);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() == 7 && line.starts_with('"') && line.ends_with('"'))
    line = line.substr(1, line.size() - 2);
  if (line.size() != 5 || !same_but_for_case(line.substr(0, 4), "sep=")) return std::nullopt;
  return line.back();
}

// Returns the lines at the head that begin with #.
std::vector<std::string_view> hash_lines(std::string_view head) {
  std::vector<std::string_view> lines;
  for (; head.starts_with('#'); head = without_first_line(head))
    lines.push_back(first_line_in(head));
  return lines;
}

std::string_view behind(std::string_view head, std::size_t lines) {
  for (; lines > 0; --lines) head = without_first_line(head);
  return head;
}

std::size_t cells_in(std::string_view line, char separator) {
  bool is_quoted = false;
  std::size_t cells = 1;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    cells += !is_quoted && c == separator ? 1 : 0;
  }
  return cells;
}

// Returns whether the first of the lines names the columns: it has text above a number.
bool begins_with_names(std::string_view text, char separator) {
  CsvReader reader({}, text, separator);
  if (!reader.next().value_or(false)) return false;
  std::vector<bool> is_text;
  for (const CsvCell& cell : reader.cells())
    is_text.push_back(!is_missing(cell.text) && !number_in(cell.text));
  if (!reader.next().value_or(false)) return false;
  for (std::size_t i = 0; i < is_text.size(); ++i) {
    if (is_text[i] && number_in(reader.cells()[i].text)) return true;
  }
  return false;
}

// Returns how many of the lines that begin with # are comments: up to the last one that has another
// number of cells than the table, and one that stands above the names of the columns. Such a line
// of the table's width may be its header, or a record.
std::size_t comments_in(std::string_view head, char separator) {
  const std::vector<std::string_view> lines = hash_lines(head);
  if (lines.empty()) return 0;
  const std::string_view rest = behind(head, lines.size());
  const std::size_t width = cells_in(rest.empty() ? lines.back() : first_line_in(rest), separator);
  std::size_t comments = lines.size();
  while (comments > 0 && cells_in(lines[comments - 1], separator) == width) --comments;
  const bool stands_above_names =
      comments + 1 == lines.size() && begins_with_names(rest, separator);
  return comments + (stands_above_names ? 1 : 0);
}

}  // namespace

Result<OpenCsv> open_csv(const ColumnsConfig& said, const std::string& path) {
  DETOL_ASSIGN(CsvReader reader, CsvReader::open(path));
  return open_csv(said, std::move(reader));
}

Result<OpenCsv> open_csv(const ColumnsConfig& said, CsvReader reader) {
  std::vector<std::string> remarks;
  if (!reader.remark().empty()) remarks.push_back(reader.remark());
  const auto declared = separator_line(reader.head());
  if (declared) reader.skip_line();
  std::optional<char> separator = declared;
  if (!said.separator.empty()) separator = said.separator.front();
  const std::string_view head = reader.head();
  const std::string_view below = behind(head, hash_lines(head).size());
  CsvDialect dialect = dialect_of(below.empty() ? head : below, separator);
  if (!said.decimal.empty()) dialect.decimal = said.decimal.front();
  const std::size_t comments = comments_in(head, dialect.separator);
  for (std::size_t i = 0; i < comments; ++i) reader.skip_line();
  if (comments > 0)
    remarks.push_back(fmt::format("{} at the head that begin{} with # {} passed over",
                                  comments == 1 ? "a line" : fmt::format("{} lines", comments),
                                  comments == 1 ? "s" : "", comments == 1 ? "is" : "are"));
  reader.set_separator(dialect.separator);
  return OpenCsv{std::move(reader), dialect, std::move(remarks)};
}

std::vector<std::string> first_line_of(const OpenCsv& file) {
  const std::string_view all = file.reader.rest();
  for (const std::string_view text : {file.reader.head(), all}) {
    CsvReader copy({}, text, file.dialect.separator);
    const bool is_read = copy.next().value_or(false);
    const bool is_cut = copy.rest().empty() && text.size() < all.size();
    if (is_read && !is_cut) return texts_of(copy.cells());
  }
  return {};
}

std::vector<std::string> texts_of(std::span<const CsvCell> cells) {
  std::vector<std::string> texts;
  for (const CsvCell& cell : cells) texts.emplace_back(cell.text);
  return texts;
}

Result<OpenCsv> open_csv_like(const ColumnsConfig& said, const CsvDialect& model, CsvReader reader,
                              const FitsFirstLine& fits) {
  ColumnsConfig as_model = said;
  if (said.separator.empty()) as_model.separator = std::string(1, model.separator);
  DETOL_ASSIGN(OpenCsv expected, open_csv(as_model, reader));
  if (said.decimal.empty() && expected.dialect.decimal == '.')
    expected.dialect.decimal = model.decimal;
  const std::vector<std::string> first = first_line_of(expected);
  if (fits(first)) return expected;
  DETOL_ASSIGN(OpenCsv found, open_csv(said, std::move(reader)));
  const std::vector<std::string> as_found = first_line_of(found);
  if (fits(as_found)) {
    found.remarks.push_back(fmt::format("the cells are between {}, not {}",
                                        name_of_separator(found.dialect.separator),
                                        name_of_separator(model.separator)));
    return found;
  }
  return as_found.size() > first.size() ? std::move(found) : std::move(expected);
}

ColumnNames::ColumnNames(std::span<const std::string> header) {
  std::unordered_map<std::string, int> copies;
  for (const std::string& cell : header) {
    const std::string_view text = without_blanks(cell);
    const std::string name = text.empty() ? name_of_place(names_.size()) : std::string(text);
    std::string free = name;
    while (!places_.emplace(free, names_.size()).second)
      free = fmt::format("{}.{}", name, ++copies[name]);
    names_.push_back(std::move(free));
  }
  for (std::size_t i = 0; i < header.size(); ++i) places_.try_emplace(header[i], i);
}

std::optional<std::size_t> ColumnNames::find(std::string_view name) const {
  const auto found = places_.find(std::string(name));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

std::string ColumnNames::unknown(std::string_view name) const {
  const std::vector<std::string_view> known(names_.begin(), names_.end());
  return unknown_name("column", name, known);
}

std::string name_of_place(std::size_t place) {
  return fmt::format("{}{}", kUnnamed, place + 1);
}

std::optional<std::size_t> place_in(std::string_view name) {
  if (!name.starts_with(kUnnamed)) return std::nullopt;
  std::size_t place = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kUnnamed.size(), end, place);
  if (error != std::errc() || at != end || place == 0) return std::nullopt;
  return place - 1;
}

}  // namespace detol::inline trainer

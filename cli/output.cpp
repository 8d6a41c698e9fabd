#include "cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/table_layout.h"
#include "core/descriptor.h"
#include "core/file.h"
#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/utf8.h"

namespace detol::inline cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 11> kJsonColumns = {
    "values",      "cross_validation", "test",          "test_interval", "params", "architecture",
    "best_so_far", "labels",           "probabilities", "predictions",   "tags"};
constexpr std::array<std::string_view, 7> kSpreadColumns = {
    "values", "cross_validation", "test",       "test_interval",
    "params", "probabilities",    "predictions"};

bool holds_json(std::string_view column) {
  return std::find(kJsonColumns.begin(), kJsonColumns.end(), column) != kJsonColumns.end();
}

Json to_json(const std::string& column, const Cell& cell) {
  if (const auto* number = std::get_if<double>(&cell)) return json_number<Json>(*number);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return Json(*whole);
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return Json();
  if (!holds_json(column)) return Json(*text);
  Json nested = json_or_discarded<Json>(*text);
  return nested.is_discarded() ? Json(*text) : nested;
}

Json to_object(const Rows& rows, std::size_t row) {
  Json object = Json::object();
  for (std::size_t i = 0; i < rows.columns.size(); ++i)
    object[rows.columns[i]] = to_json(rows.columns[i], rows.rows[row][i]);
  return object;
}

std::string dump(const Json& json, int indent) {
  return compact(json, indent);
}

// Grid: the words of a table or CSV file.
struct Grid {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;  // by column: only numbers

  std::size_t column(const std::string& name) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
    columns.push_back(name);
    right.push_back(true);
    return columns.size() - 1;
  }
};

std::string word_of(const Json& value, bool for_people) {
  if (value.is_null()) return for_people ? "-" : "";
  if (value.is_string()) return value.get<std::string>();
  if (for_people && value.is_array() && value.size() == 2 && value[0].is_number())
    return fmt::format("{} to {}", word_of(value[0], true), word_of(value[1], true));
  if (value.is_number_float() && for_people) return fmt::format("{:.6g}", value.get<double>());
  return dump(value, -1);
}

// Appends the word of a cell that holds no JSON, without a Json of it: a large result has many.
void append_word(std::string& words, const Cell& cell, bool for_people) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    words += *text;
  } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    const fmt::format_int digits(*whole);
    words.append(digits.data(), digits.size());
  } else if (const auto* real = std::get_if<double>(&cell); real == nullptr) {
    if (for_people) words += '-';
  } else if (!std::isfinite(*real)) {
    words += word_of_not_finite(*real);
  } else if (for_people) {
    fmt::format_to(std::back_inserter(words), "{:.6g}", *real);
  } else {
    words += dump(*real, -1);
  }
}

std::string word_of(const Cell& cell, bool for_people) {
  std::string word;
  append_word(word, cell, for_people);
  return word;
}

bool is_number(const Json& value) {
  return value.is_number() || value.is_null() || value == "NaN";
}

bool is_number(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text == "NaN";
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr || !std::isinf(*real);
}

// Escapes text from outside, which must not move the cursor or end a line.
void escape(Grid& grid) {
  for (std::string& name : grid.columns) name = printable(name);
  for (auto& row : grid.rows) {
    for (std::string& word : row) {
      if (!is_plain_ascii(word)) word = printable(word);
    }
  }
}

bool spreads(std::string_view column) {
  return std::ranges::find(kSpreadColumns, column) != kSpreadColumns.end();
}

// Gives `values`, `test`, `test_interval` and `params` a column per member; `architecture` stays
// one word of JSON.
Grid to_grid(const Rows& rows, bool for_people) {
  Grid grid;
  std::vector<std::size_t> places;  // in the grid, of the columns that do not spread
  std::vector<bool> is_json;
  for (const std::string& name : rows.columns) {
    places.push_back(spreads(name) ? 0 : grid.column(name));
    is_json.push_back(holds_json(name));
  }
  grid.rows.reserve(rows.rows.size());
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    std::vector<std::string> words(grid.columns.size(), for_people ? "-" : "");
    const auto put = [&](std::size_t at, const Json& value) {
      if (at >= words.size()) words.resize(at + 1, for_people ? "-" : "");
      words[at] = word_of(value, for_people);
      if (!is_number(value)) grid.right[at] = false;
    };
    for (std::size_t c = 0; c < rows.columns.size(); ++c) {
      if (!is_json[c]) {
        words[places[c]] = word_of(rows.rows[i][c], for_people);
        if (!is_number(rows.rows[i][c])) grid.right[places[c]] = false;
        continue;
      }
      const std::string& name = rows.columns[c];
      const Json value = to_json(name, rows.rows[i][c]);
      if (spreads(name) && value.is_null()) continue;
      if (!value.is_object() || !spreads(name)) {
        put(spreads(name) ? grid.column(name) : places[c], value);
        continue;
      }
      for (const auto& [member, inner] : value.items())
        put(grid.column(name + "." + member), inner);
    }
    grid.rows.push_back(std::move(words));
  }
  for (auto& row : grid.rows) row.resize(grid.columns.size(), for_people ? "-" : "");
  if (for_people) escape(grid);
  return grid;
}

void append_csv_word(std::string& line, const std::string& word) {
  if (word.find_first_of(",\"\r\n") == std::string::npos) {
    line += word;
    return;
  }
  line += '"';
  for (const char c : word) {
    if (c == '"') line += c;
    line += c;
  }
  line += '"';
}

std::string csv_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (&word != &words.front()) line += ',';
    append_csv_word(line, word);
  }
  return line += "\n";
}

std::string to_csv(const Grid& grid) {
  std::string text = csv_line(grid.columns);
  for (const auto& row : grid.rows) text += csv_line(row);
  return text;
}

std::string to_list(const Grid& grid, bool color) {
  std::size_t width = 0;
  for (const std::string& name : grid.columns) width = std::max(width, width_of(name));
  std::string text;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    std::string name;
    append_padded(name, grid.columns[i], width, false);
    text += bold(name, color) + "  " + grid.rows.front()[i] + "\n";
  }
  return text;
}

// Writes what nlohmann would print for the whole array with an indent of two.
Result<void> write_json_array(const Rows& rows, const Sink& sink) {
  if (rows.rows.empty()) return sink("[]\n");
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    std::string object = dump(to_object(rows, i), 2);
    for (std::size_t end = 0; (end = object.find('\n', end)) != std::string::npos; end += 3)
      object.insert(end + 1, "  ");
    DETOL_TRY(sink((i == 0 ? "[\n  " : ",\n  ") + object));
  }
  return sink("\n]\n");
}

Result<void> write_json_lines(const Rows& rows, const Sink& sink) {
  for (std::size_t i = 0; i < rows.rows.size(); ++i)
    DETOL_TRY(sink(dump(to_object(rows, i), -1) + "\n"));
  return {};
}

Result<void> write_plain_csv(const Rows& rows, const Sink& sink) {
  DETOL_TRY(sink(csv_line(rows.columns)));
  for (const auto& row : rows.rows) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < row.size(); ++i)
      words.push_back(holds_json(rows.columns[i]) ? word_of(to_json(rows.columns[i], row[i]), false)
                                                  : word_of(row[i], false));
    DETOL_TRY(sink(csv_line(words)));
  }
  return {};
}

// Returns the table of rows without JSON.
Table table_of(const Rows& rows) {
  Table table(rows.columns.size());
  table.ends.reserve((rows.rows.size() + 1) * rows.columns.size());
  for (const std::string& name : rows.columns) {
    table.words += name;
    table.end_word();
  }
  for (const auto& row : rows.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      append_word(table.words, row[i], true);
      table.end_word();
      if (!is_number(row[i])) table.right[i] = false;
    }
  }
  return table;
}

Table table_of(const Grid& grid) {
  Table table(grid.columns.size());
  const auto add = [&](const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      table.words += word;
      table.end_word();
    }
  };
  add(grid.columns);
  for (const auto& row : grid.rows) add(row);
  table.right = grid.right;
  return table;
}

// Returns the columns of these names.
Result<Rows> chosen(const Rows& rows, const std::vector<std::string>& names) {
  DETOL_ASSIGN(const auto places, places_of(names, rows.columns));
  Rows some;
  for (const std::size_t place : places) some.columns.push_back(rows.columns[place]);
  for (const auto& row : rows.rows) {
    auto& short_row = some.rows.emplace_back();
    for (const std::size_t place : places) short_row.push_back(row[place]);
  }
  return some;
}

Result<Grid> chosen(const Grid& grid, const std::vector<std::string>& names) {
  DETOL_ASSIGN(const auto places, places_of(names, grid.columns));
  Grid some;
  for (const std::size_t place : places) {
    some.columns.push_back(grid.columns[place]);
    some.right.push_back(grid.right[place]);
  }
  for (const auto& row : grid.rows) {
    auto& short_row = some.rows.emplace_back();
    for (const std::size_t place : places) short_row.push_back(row[place]);
  }
  return some;
}

// Writes row by row unless columns depend on rows, so that a large text is never in memory at once.
Result<void> write_all(const Rows& rows, const Globals& globals, const Sink& sink) {
  switch (globals.format) {
    case Format::kJson:
      return write_json_array(rows, sink);
    case Format::kJsonl:
      return write_json_lines(rows, sink);
    case Format::kCsv: {
      if (std::ranges::none_of(rows.columns, spreads)) return write_plain_csv(rows, sink);
      Grid grid = to_grid(rows, false);
      if (!globals.columns.empty()) {
        DETOL_ASSIGN(grid, chosen(grid, globals.columns));
      }
      return sink(to_csv(grid));
    }
    case Format::kTable:
      break;
  }
  const bool is_plain = std::ranges::none_of(rows.columns, holds_json);
  return write_table(is_plain ? table_of(rows) : table_of(to_grid(rows, true)), globals, sink);
}

// Leaves columns out before their words are made, where it need not spread them to know their
// names.
Result<void> write_rows(const Rows& rows, const Globals& globals, const Sink& sink) {
  const bool is_json = globals.format == Format::kJson || globals.format == Format::kJsonl;
  const bool by_words =
      globals.format == Format::kTable || (!is_json && std::ranges::any_of(rows.columns, spreads));
  if (globals.columns.empty() || by_words) return write_all(rows, globals, sink);
  DETOL_ASSIGN(const Rows some, chosen(rows, globals.columns));
  return write_all(some, globals, sink);
}

Result<void> put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return fail(ErrorCode::kStorage, "cannot write to the standard output");
}

}  // namespace

Result<std::string> render(const Rows& rows, const Globals& globals) {
  std::string all;
  DETOL_TRY(write_rows(rows, globals, [&all](const std::string& text) -> Result<void> {
    all += text;
    return {};
  }));
  return all;
}

Result<std::string> render_record(const Rows& record, const Globals& globals) {
  if (globals.format == Format::kCsv || globals.format == Format::kJsonl)
    return render(record, globals);
  if (globals.format == Format::kTable) {
    Grid grid = to_grid(record, true);
    if (!globals.columns.empty()) {
      DETOL_ASSIGN(grid, chosen(grid, globals.columns));
    }
    return to_list(grid, globals.color);
  }
  if (globals.columns.empty()) return dump(to_object(record, 0), 2) + "\n";
  DETOL_ASSIGN(const Rows some, chosen(record, globals.columns));
  return dump(to_object(some, 0), 2) + "\n";
}

Result<void> print_data(const std::string& text) {
  DETOL_TRY(put(text));
  if (std::fflush(stdout) == 0) return {};
  return fail(ErrorCode::kStorage, "cannot write to the standard output");
}

Result<void> print_data(const Result<std::string>& text) {
  if (!text) return tl::unexpected(text.error());
  return print_data(*text);
}

Result<void> print_rows(const Rows& rows, const Globals& globals) {
  DETOL_TRY(write_rows(rows, globals, put));
  return print_data(std::string());
}

Result<void> write_output(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (!std::filesystem::exists(there)) return write_file_durably(path, bytes);
  if (std::filesystem::is_regular_file(there))
    return write_file_durably(std::filesystem::canonical(path, error), bytes);
  std::ofstream file(path, std::ios::binary);
  file << bytes << std::flush;
  return file ? Result<void>() : cannot("write", path, ErrorCode::kStorage);
}

}  // namespace detol::inline cli

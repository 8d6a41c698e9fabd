#include "printing/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/descriptor.h"
#include "core/exit_code.h"
#include "core/file.h"
#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/source_excerpt.h"
#include "core/terminal.h"
#include "core/utf8.h"
#include "printing/table_layout.h"

namespace detol::inline printing {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 11> kJsonColumns = {
    "values",      "cross_validation", "test",          "test_interval", "params", "architecture",
    "best_so_far", "labels",           "probabilities", "predictions",   "tags"};
constexpr std::array<std::string_view, 7> kSpreadColumns = {
    "values", "cross_validation", "test",       "test_interval",
    "params", "probabilities",    "predictions"};

bool holds_json(std::string_view column) {
  return std::ranges::find(kJsonColumns, column) != kJsonColumns.end();
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

// Grid: the words of a table or CSV file.
struct Grid {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;  // by column: only numbers

  std::size_t column(const std::string& name) {
    const auto found = std::ranges::find(columns, name);
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
  return compact(value);
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
    words += compact(Json(*real));
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

// Text from outside must not move the cursor or end a line.
std::string to_list(const Grid& grid, bool color) {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const std::string& name : grid.columns)
    width = std::max(width, width_of(names.emplace_back(printable(name))));
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string name;
    append_padded(name, names[i], width, false);
    text += bold(name, color) + "  " + printable(grid.rows.front()[i]) + "\n";
  }
  return text;
}

// Writes what nlohmann would print for the whole array with an indent of two.
Result<void> write_json_array(const Rows& rows, const Sink& sink) {
  if (rows.rows.empty()) return sink("[]\n");
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    std::string object = compact(to_object(rows, i), 2);
    for (std::size_t end = 0; (end = object.find('\n', end)) != std::string::npos; end += 3)
      object.insert(end + 1, "  ");
    DETOL_TRY(sink((i == 0 ? "[\n  " : ",\n  ") + object));
  }
  return sink("\n]\n");
}

Result<void> write_json_lines(const Rows& rows, const Sink& sink) {
  for (std::size_t i = 0; i < rows.rows.size(); ++i)
    DETOL_TRY(sink(compact(to_object(rows, i)) + "\n"));
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

// Returns the elements at these places.
template <typename T>
std::vector<T> picked(const std::vector<T>& all, const std::vector<std::size_t>& places) {
  std::vector<T> some;
  for (const std::size_t place : places) some.push_back(all[place]);
  return some;
}

// Return the columns of these names; all where there are no names.
Result<Rows> chosen(Rows rows, const std::vector<std::string>& names) {
  if (names.empty()) return rows;
  DETOL_ASSIGN(const auto places, places_of(names, rows.columns));
  rows.columns = picked(rows.columns, places);
  for (auto& row : rows.rows) row = picked(row, places);
  return rows;
}

Result<Grid> chosen(Grid grid, const std::vector<std::string>& names) {
  if (names.empty()) return grid;
  DETOL_ASSIGN(const auto places, places_of(names, grid.columns));
  grid.columns = picked(grid.columns, places);
  grid.right = picked(grid.right, places);
  for (auto& row : grid.rows) row = picked(row, places);
  return grid;
}

// Writes row by row unless columns depend on rows, so that a large text is never in memory at once.
// Columns are left out before their words are made, where they need not be spread for their names.
Result<void> write_rows(const Rows& rows, const PrintStyle& style, const Sink& sink) {
  if (style.format == Format::kTable) {
    const bool is_plain = std::ranges::none_of(rows.columns, holds_json);
    return write_table(is_plain ? table_of(rows) : table_of(to_grid(rows, true)), style, sink);
  }
  if (style.format == Format::kCsv && std::ranges::any_of(rows.columns, spreads)) {
    DETOL_ASSIGN(const Grid grid, chosen(to_grid(rows, false), style.columns));
    return sink(to_csv(grid));
  }
  const auto write = style.format == Format::kJson    ? write_json_array
                     : style.format == Format::kJsonl ? write_json_lines
                                                      : write_plain_csv;
  if (style.columns.empty()) return write(rows, sink);
  DETOL_ASSIGN(const Rows some, chosen(rows, style.columns));
  return write(some, sink);
}

Result<void> put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return fail(ErrorCode::kStorage, "cannot write to the standard output");
}

}  // namespace

Result<std::string> render(const Rows& rows, const PrintStyle& style) {
  std::string all;
  DETOL_TRY(write_rows(rows, style, [&all](const std::string& text) -> Result<void> {
    all += text;
    return {};
  }));
  return all;
}

Result<std::string> render_record(const Rows& record, const PrintStyle& style) {
  if (style.format == Format::kCsv || style.format == Format::kJsonl) return render(record, style);
  if (style.format == Format::kTable)
    return chosen(to_grid(record, true), style.columns).map([&](const Grid& grid) {
      return to_list(grid, style.color);
    });
  return chosen(record, style.columns).map([](const Rows& some) {
    return compact(to_object(some, 0), 2) + "\n";
  });
}

Result<void> print_data(const std::string& text) {
  DETOL_TRY(put(text));
  if (std::fflush(stdout) == 0) return {};
  return fail(ErrorCode::kStorage, "cannot write to the standard output");
}

Result<void> print_rows(const Rows& rows, const PrintStyle& style) {
  DETOL_TRY(write_rows(rows, style, put));
  return print_data(std::string());
}

Result<void> print_record(const Rows& record, const PrintStyle& style) {
  DETOL_ASSIGN(const std::string text, render_record(record, style));
  return print_data(text);
}

int print_error(const Error& error) {
  const std::string& message = error.message;
  std::string shown;  // below the line before
  for (std::size_t from = 0; from <= message.size();) {
    const std::size_t end = std::min(message.size(), message.find('\n', from));
    const std::string line = message.substr(from, end - from);
    log_error("detol: {}", printable(line));
    from = end + 1;
    if (::isatty(STDERR_FILENO) == 0) continue;
    std::string excerpt = source_excerpt(line, screen_at(STDERR_FILENO, /*color=*/false));
    if (excerpt != shown) fmt::print(stderr, "{}", excerpt);
    shown = std::move(excerpt);
  }
  return exit_code_of(error.code);
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

}  // namespace detol::inline printing

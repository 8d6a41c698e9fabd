#include "printing/trial_table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace detol::inline printing {
namespace {

using Json = nlohmann::ordered_json;

// Columns whose cells are objects of JSON: each member gets a column.
constexpr std::array<std::string_view, 4> kObjects = {"values", "cross_validation", "test",
                                                      "params"};
constexpr std::string_view kArchitecture = "params.architecture.";

struct Column {
  std::string name;
  std::vector<Cell> cells;
};

Column column_of(const Rows& rows, std::size_t place) {
  Column column{rows.columns[place], {}};
  for (const auto& row : rows.rows) column.cells.push_back(row[place]);
  return column;
}

Rows table_of(const std::vector<Column>& columns, std::size_t rows) {
  Rows table;
  table.rows.resize(rows);
  for (const Column& column : columns) {
    table.columns.push_back(column.name);
    for (std::size_t i = 0; i < rows; ++i) table.rows[i].push_back(column.cells[i]);
  }
  return table;
}

// Returns whether a column says something of a row.
bool says_anything(const Column& column) {
  return column.name == "trial" || std::ranges::any_of(column.cells, [&](const Cell& cell) {
           if (const auto* text = std::get_if<std::string>(&cell))
             return !text->empty() && (column.name != "architecture" || *text != "null");
           return cell_number(cell, 0) != 0;
         });
}

Cell cell_of(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? value.get<std::string>() : compact(value);
}

// Returns the columns of the members of a column's objects, in the order in which they come.
std::vector<Column> members_of(const Column& column) {
  std::vector<Column> members;
  for (std::size_t i = 0; i < column.cells.size(); ++i) {
    const auto* text = std::get_if<std::string>(&column.cells[i]);
    const Json object = json_or_discarded<Json>(text == nullptr ? "" : *text);
    if (!object.is_object()) continue;
    for (const auto& [key, value] : object.items()) {
      const std::string name = column.name + "." + key;
      auto found = std::ranges::find(members, name, &Column::name);
      if (found == members.end())
        found = members.insert(members.end(), {name, std::vector<Cell>(column.cells.size())});
      found->cells[i] = cell_of(value);
    }
  }
  return members;
}

}  // namespace

Rows without_empty_columns(const Rows& rows) {
  std::vector<Column> kept;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    Column column = column_of(rows, i);
    if (says_anything(column)) kept.push_back(std::move(column));
  }
  return table_of(kept, rows.rows.size());
}

Rows trial_table_of(const Rows& trials, const std::vector<std::string>& columns) {
  std::vector<Column> table, architecture;
  for (const std::string& name : columns) {
    const auto found = std::ranges::find(trials.columns, name);
    if (found == trials.columns.end()) continue;
    Column column = column_of(trials, static_cast<std::size_t>(found - trials.columns.begin()));
    if (std::ranges::find(kObjects, name) == kObjects.end()) {
      if (says_anything(column)) table.push_back(std::move(column));
      continue;
    }
    for (Column& member : members_of(column))
      (member.name.starts_with(kArchitecture) ? architecture : table).push_back(std::move(member));
  }
  std::ranges::move(architecture, std::back_inserter(table));
  return table_of(table, trials.rows.size());
}

}  // namespace detol::inline printing

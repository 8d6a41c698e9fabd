#include "printing/trial_table.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace detol::inline printing {
namespace {

using Json = nlohmann::ordered_json;

// Columns whose cells are objects of JSON: each member gets a column.
constexpr std::array<std::string_view, 4> kObjects = {"values", "cross_validation", "test",
                                                      "params"};
constexpr std::string_view kArchitecture = "params.architecture.";

bool is_nothing(const Cell& cell, std::string_view column) {
  if (const auto* text = std::get_if<std::string>(&cell))
    return text->empty() || (column == "architecture" && *text == "null");
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole == 0;
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr || *real == 0;
}

// Returns whether a column says nothing of any row.
bool is_empty(const Rows& rows, std::size_t column) {
  return std::ranges::all_of(rows.rows, [&](const std::vector<Cell>& row) {
    return is_nothing(row[column], rows.columns[column]);
  });
}

Cell cell_of(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? value.get<std::string>() : compact(value);
}

void add_column(Rows& table, const std::string& name, std::vector<Cell> cells) {
  table.columns.push_back(name);
  for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].push_back(std::move(cells[i]));
}

// Returns the columns of the members of a column's objects, in the order in which they come.
std::vector<std::pair<std::string, std::vector<Cell>>> members_of(const Rows& rows,
                                                                  std::size_t column) {
  std::vector<std::pair<std::string, std::vector<Cell>>> members;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const auto* text = std::get_if<std::string>(&rows.rows[i][column]);
    const Json object = json_or_discarded<Json>(text == nullptr ? "" : *text);
    if (!object.is_object()) continue;
    for (const auto& [key, value] : object.items()) {
      const std::string name = rows.columns[column] + "." + key;
      auto found = std::ranges::find(members, name, &decltype(members)::value_type::first);
      if (found == members.end())
        found = members.insert(members.end(), {name, std::vector<Cell>(rows.rows.size())});
      found->second[i] = cell_of(value);
    }
  }
  return members;
}

std::vector<Cell> cells_of(const Rows& rows, std::size_t column) {
  std::vector<Cell> cells;
  for (const auto& row : rows.rows) cells.push_back(row[column]);
  return cells;
}

}  // namespace

Rows without_empty_columns(const Rows& rows) {
  Rows kept;
  kept.rows.resize(rows.rows.size());
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    if (rows.columns[i] == "trial" || !is_empty(rows, i))
      add_column(kept, rows.columns[i], cells_of(rows, i));
  }
  return kept;
}

Rows trial_table_of(const Rows& trials, const std::vector<std::string>& columns) {
  Rows table;
  table.rows.resize(trials.rows.size());
  std::vector<std::pair<std::string, std::vector<Cell>>> architecture;
  for (const std::string& name : columns) {
    const auto found = std::ranges::find(trials.columns, name);
    if (found == trials.columns.end()) continue;
    const auto place = static_cast<std::size_t>(found - trials.columns.begin());
    if (std::ranges::find(kObjects, name) == kObjects.end()) {
      if (name == "trial" || !is_empty(trials, place))
        add_column(table, name, cells_of(trials, place));
      continue;
    }
    for (auto& [member, cells] : members_of(trials, place)) {
      if (member.starts_with(kArchitecture))
        architecture.emplace_back(member, std::move(cells));
      else
        add_column(table, member, std::move(cells));
    }
  }
  for (auto& [member, cells] : architecture) add_column(table, member, std::move(cells));
  return table;
}

}  // namespace detol::inline printing

#include "trainer/data/formats/table_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/csv_look.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostNumberedClasses = 10;

// Returns the text as a YAML scalar that reads back as itself.
std::string quoted(const std::string& text) {
  return compact(nlohmann::json(text));
}

// Returns whether a label of the table is a number to predict, not a class.
bool is_regression(const TableLook& look) {
  const ColumnLook& label = look.columns[look.labels.front()];
  return label.kind == ColumnKind::kNumber && label.distinct > kMostNumberedClasses;
}

// Returns the columns that teach nothing, or number the records.
std::vector<std::string> columns_to_drop(const TableLook& look) {
  std::vector<std::string> names;
  for (const ColumnLook& column : look.columns) {
    const bool is_odd = column.use == ColumnUse::kLeftOut || !column.remark.empty();
    if (is_odd && column.use != ColumnUse::kLabel) names.push_back(quoted(column.name));
  }
  return names;
}

std::string data_section(const fs::path& data, const TableLook& look) {
  std::string text = "data:\n";
  for (const std::string& remark : remarks_on(look))
    text += fmt::format("  # {}\n", printable(remark));
  const ColumnLook& label = look.columns[look.labels.front()];
  text += fmt::format("  format: csv\n  path: {}\n  label: {}\n", quoted(data.string()),
                      quoted(label.name));
  if (label.missing > 0) text += "  missing_label: drop\n";
  if (is_regression(look)) {
    text += "  task: regression\n";
  } else if (label.kind == ColumnKind::kNumber) {
    text += fmt::format(
        "  # The label has {} different numbers, taken as classes; to predict the "
        "number, begin with\n  # `detol new table_regression`.\n",
        label.distinct);
  }
  text += "  split: {validation: 0.2, test: 0.2, by: stratified}\n";
  const std::vector<std::string> drop = columns_to_drop(look);
  text += fmt::format("  columns: {{{}numbers: piecewise, bins: 16}}\n",
                      drop.empty() ? "" : fmt::format("drop: [{}], ", fmt::join(drop, ", ")));
  return text;
}

// Returns the text with the section of that key replaced: from its line to the next that is not
// indented.
std::string with_section(const std::string& text, std::string_view key,
                         const std::string& section) {
  const std::size_t begin = text.find(fmt::format("\n{}:", key)) + 1;
  std::size_t end = text.find('\n', begin) + 1;
  while (end < text.size() && (text[end] == ' ' || text[end] == '#'))
    end = text.find('\n', end) + 1;
  return text.substr(0, begin) + section + text.substr(end);
}

}  // namespace

Result<TableSpace> space_of_table(const fs::path& table, const std::optional<std::string>& label,
                                  bool is_number) {
  DataConfig config{.format = "csv", .path = table.string(), .missing_label = "drop"};
  if (label) config.labels = {*label};
  DETOL_ASSIGN(TableLook look, look_at_table(config, config.path));
  for (const std::size_t i : look.labels) {
    const ColumnLook& column = look.columns[i];
    if (!column.remark.empty()) log_warning("column {}: {}", in_quotes(column.name), column.remark);
  }
  if (is_number) {
    ColumnLook& column = look.columns[look.labels.front()];
    if (column.kind != ColumnKind::kNumber)
      return fail(ErrorCode::kInput, fmt::format("{}: the label {} is text, not a number to "
                                                 "predict; begin with `detol new table`",
                                                 table.string(), in_quotes(column.name)));
    column.distinct = std::max(column.distinct, kMostNumberedClasses + 1);
  }
  return TableSpace{is_regression(look) ? "table_regression" : "table",
                    name_of_study(table.stem().string()), data_section(table, look)};
}

std::string made_of(const std::string& ready, const TableSpace& space) {
  const std::string text = ready.substr(ready.find("\nversion:") + 1);
  return with_section(with_section(text, "study", fmt::format("study: {}\n", space.study)), "data",
                      space.data_section);
}

std::string name_of_study(std::string name) {
  std::ranges::replace_if(
      name,
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; },
      '-');
  const bool begins_well = !name.empty() && std::isalnum(static_cast<unsigned char>(name.front()));
  return begins_well ? name : "study-" + name;
}

}  // namespace detol::inline trainer

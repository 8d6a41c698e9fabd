#include "trainer/data/table_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline trainer {
std::string name_of_separator(char separator) {
  switch (separator) {
    case ',':
      return "commas";
    case ';':
      return "semicolons";
    case '\t':
      return "tabs";
    case '|':
      return "bars";
    default:
      return fmt::format("the characters {}", in_quotes({&separator, 1}));
  }
}

std::string as_yaml(std::string_view name) {
  const bool is_plain =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (is_plain && !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0)
    return std::string(name);
  std::string quoted;
  for (const char c : name) quoted += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return '"' + printable(quoted) + '"';
}

std::vector<std::size_t> columns_used(const TableLook& look, ColumnUse use) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < look.columns.size(); ++i) {
    if (look.columns[i].use == use) found.push_back(i);
  }
  return found;
}

std::vector<std::string> remarks_on(const TableLook& look) {
  std::vector<std::string> remarks = {fmt::format(
      "{} records of {} columns between {}{}, {}", look.records, look.columns.size(),
      name_of_separator(look.separator), look.decimal == ',' ? ", with decimal commas" : "",
      look.has_header ? "the first line names them" : "no header")};
  remarks.insert(remarks.end(), look.remarks.begin(), look.remarks.end());
  std::size_t odd = 0;
  for (const ColumnLook& column : look.columns) {
    if (column.remark.empty()) continue;
    ++odd;
    if (odd <= kMostRemarks || column.use == ColumnUse::kLabel)
      remarks.push_back(fmt::format("column {}: {}", in_quotes(column.name), column.remark));
  }
  if (odd > kMostRemarks)
    remarks.push_back(
        fmt::format("{} columns have such a remark, {} are left out: `detol data "
                    "inspect` lists them all",
                    odd, columns_used(look, ColumnUse::kLeftOut).size()));
  return remarks;
}

std::string_view name_of(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kNumber:
      return "number";
    case ColumnKind::kDate:
      return "date";
    case ColumnKind::kCategory:
      break;
  }
  return "category";
}

std::string_view name_of(ColumnUse use) {
  switch (use) {
    case ColumnUse::kInput:
      return "input";
    case ColumnUse::kLabel:
      return "label";
    case ColumnUse::kSplit:
      return "split";
    case ColumnUse::kLeftOut:
      break;
  }
  return "left out";
}

}  // namespace detol::inline trainer

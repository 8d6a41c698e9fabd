#include "trainer/data/table_look.h"

#include <fmt/format.h>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

std::string_view name_of_separator(char separator) {
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
      return "the given character";
  }
}

}  // namespace

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
  for (const ColumnLook& column : look.columns) {
    if (!column.remark.empty())
      remarks.push_back(fmt::format("column {}: {}", in_quotes(column.name), column.remark));
  }
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

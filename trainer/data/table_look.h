#pragma once

// TableLook: what a table was found to be: how its file is written, and what each column holds. A
// plain value, shown by `detol validate` and `detol data inspect`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/table_encoder.h"

namespace detol::inline trainer {

enum class ColumnUse { kInput, kLabel, kSplit, kLeftOut };

struct ColumnLook {
  std::string name;  // of the header; column_1, column_2, ... where there is none
  ColumnUse use = ColumnUse::kInput;
  ColumnKind kind = ColumnKind::kNumber;
  bool is_day_first = false;  // of dates between slashes
  std::int64_t missing = 0;   // cells
  std::int64_t distinct = 0;  // different cells that are not missing; counted up to 10,000
  double offset = 0;          // of its numbers or days (offsets.h)
  bool is_index = false;      // a nameless one, left out
  std::string remark = {};    // why it is left out, or what is odd about it; empty: nothing is
};

struct TableLook {
  char separator = ',';
  char decimal = '.';
  bool has_header = false;
  std::int64_t records = 0;
  std::vector<ColumnLook> columns;        // of the file, in its order
  std::vector<std::size_t> labels;        // columns, in the order of data.label
  std::vector<std::string> remarks = {};  // on the file: what was guessed, passed over, renamed
};

// Returns the columns of a table that are used so, in their order.
std::vector<std::size_t> columns_used(const TableLook& look, ColumnUse use);

constexpr std::size_t kMostRemarks = 20;  // on columns, in one message

// Returns the sentences that a person should read: how the file is written, which columns are left
// out and why, and what is odd about others. Of a wide table they are the first, and their number.
std::vector<std::string> remarks_on(const TableLook& look);

// Returns "commas", "semicolons", ...
std::string name_of_separator(char separator);

// Returns the name of a column as a scalar of YAML, in quotes where it needs them. All that comes
// from a table goes into a space file so, or by printable().
std::string as_yaml(std::string_view name);

std::string_view name_of(ColumnKind kind);
std::string_view name_of(ColumnUse use);

}  // namespace detol::inline trainer

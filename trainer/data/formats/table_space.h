#pragma once

// The space file to start from for a table: what each of its columns is, what is left out, and
// which task the label asks for. It is a ready space with other sections.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"

namespace detol::inline trainer {

struct TableSpace {
  std::string ready;  // the space that it begins with: "table", or "table_regression"
  std::string study;
  std::string data_section;
};

// Looks at the table. `label`: a column; nullopt: the last. `is_number`: it is predicted as a
// number, however few there are. Warns of a label that is odd. Errors (kInput): as look_at_table;
// the label must be a number and is none.
Result<TableSpace> space_of_table(const std::filesystem::path& table,
                                  const std::optional<std::string>& label, bool is_number);

// Returns the text of the ready space with the table's study and data.
std::string made_of(const std::string& ready, const TableSpace& space);

// Returns the name as a study's: letters, digits, '-', '_' and '.'.
std::string name_of_study(std::string name);

}  // namespace detol::inline trainer

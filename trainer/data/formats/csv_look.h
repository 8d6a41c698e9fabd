#pragma once

// Looks at a CSV file before it is read: how its cells are separated, whether its first line names
// the columns, and what each column holds.
//
//   header   the first line names the columns if it has the name that data.label has, or by what
//            stands below it (csv_header.h). data.header says it.
//   number   all cells that are not missing are numbers. Where only half of them or more are, the
//            first other one is an error: it is a slip of the pen more often than a category.
//   date     all are dates (csv_dialect.h), which are used as days since 1970-01-01
//   category any other column of few different texts; one of many is text, and left out
//
// A column of numbers without a name that differ in every record is an index, and left out.
// data.columns chooses, drops and types them.

#include <string>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/formats/csv.h"
#include "trainer/data/table_look.h"

namespace detol::inline trainer {

// Reads the whole file. Errors (kInput, with file:line:column): the file is empty or malformed, a
// column that the space file names is not there, a cell that is no number among numbers.
Result<TableLook> look_at_table(const DataConfig& config, const std::string& path);

}  // namespace detol::inline trainer

#pragma once

// Looks at a CSV file before it is read: how its cells are separated, whether its first line names
// the columns, and what each column holds.
//
//   header   the first line names the columns if it has text above a column of numbers or dates, or
//            the name that data.label has; of a file of texts alone, if none of its cells stands
//            below. data.header says it.
//   number   all cells that are not missing are numbers. Where only half of them or more are, the
//            first other one is an error: it is a slip of the pen more often than a category.
//   date     all are dates (csv_dialect.h), which are used as days since 1970-01-01
//   category any other column of few different texts; one of many is text, and left out
//
// data.columns chooses, drops and types them.

#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/formats/csv.h"
#include "trainer/data/table_look.h"

namespace detol::inline trainer {

// Returns the columns of data.label; the last one where it is not set.
std::vector<std::string> label_columns(const DataConfig& config);

// Opens the file in the dialect that it is written in, but for what data.separator and data.decimal
// say. Errors (kInput): it cannot be read.
struct OpenCsv {
  CsvReader reader;
  CsvDialect dialect;
};
Result<OpenCsv> open_csv(const DataConfig& config, const std::string& path);

// Reads the whole file. Errors (kInput, with file:line:column): the file is empty or malformed, a
// column that the space file names is not there, a cell that is no number among numbers.
Result<TableLook> look_at_table(const DataConfig& config, const std::string& path);

}  // namespace detol::inline trainer

#pragma once

// The records of a table, read by what its file was found to be (csv_look.h).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/formats/csv.h"
#include "trainer/data/table_look.h"

namespace detol::inline trainer {

// TableLayout: where the wanted cells of a record are.
struct TableLayout {
  bool has_header = false;
  std::vector<std::size_t> inputs, labels;  // columns of the file
  std::vector<std::size_t> split = {};      // none or one
};

TableLayout layout_of(const TableLook& look);

// CsvRecords: the records of one file, in its order.
struct CsvRecords {
  // size x width, less the offset of the column; NaN: missing; of a category its place in a
  // dictionary
  std::vector<float> values;
  std::vector<std::vector<std::string>> dictionaries;  // of each input; empty: it is a number
  std::vector<std::string> labels;                     // as written; only of tasks with labels
  std::vector<float> targets;                          // of other tasks, less their offsets
  std::vector<CsvCell> label_cells;                    // positions of the labels, without text
  std::vector<std::string> groups;                     // of data.split.by group
  std::vector<double> times;                           // of data.split.by time
  std::size_t width = 0;                               // values per record
  std::size_t size = 0;                                // records
  std::int64_t without_label = 0;                      // others, which were left out
  std::vector<std::string> remarks = {};               // on the file, if it is another one
  std::uint64_t fingerprint = 0;                       // of the file's bytes

  std::int64_t count() const { return static_cast<std::int64_t>(size); }
};

// Return the number in a cell, or a date as days since 1970-01-01, less the column's offset. Errors
// (kInput, with file:line:column): it is none, or not finite; `rule` says why it must be.
Result<float> number_in_cell(const CsvReader& reader, const CsvCell& cell, char decimal,
                             double offset, std::string_view rule);
Result<float> date_in_cell(const CsvReader& reader, const CsvCell& cell, bool is_day_first,
                           double offset);

// Reads a file that was looked at. Errors (kInput, with file:line:column): a label is missing or
// not what the task needs, a number is not finite.
Result<CsvRecords> read_records(const DataConfig& config, const std::string& path,
                                const TableLook& look);

// Reads another file of the same columns: by name where there is a header, in any order, else by
// their place. It has the same dialect, or else its own, which is remarked. Errors also: a column
// is missing.
Result<CsvRecords> read_records_like(const DataConfig& config, const std::string& path,
                                     const TableLook& look);

}  // namespace detol::inline trainer

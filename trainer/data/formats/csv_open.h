#pragma once

// Opens CSV files in the dialect that they are written in. All readers of CSV files do so here: of
// data, of tables of known results, of trials to import.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/formats/csv.h"

namespace detol::inline trainer {

// OpenCsv: a file before its first record: behind a line `sep=;` and behind comments, which are
// lines that begin with # and have another number of cells than the table.
struct OpenCsv {
  CsvReader reader;
  CsvDialect dialect;
  std::vector<std::string> remarks = {};  // what was passed over or converted
};

// Opens the file in the dialect that it is found to have, but for what data.separator and
// data.decimal say. Errors (kInput): it cannot be read, or is not text.
Result<OpenCsv> open_csv(const ColumnsConfig& said, const std::string& path);
Result<OpenCsv> open_csv(const ColumnsConfig& said, CsvReader reader);

// Opens a file in the dialect of another one, its model, if `fits` the first line when read so;
// else in the dialect that it is found to have, with a remark. Where neither fits, the caller sees
// that by the first line.
using FitsFirstLine = std::function<bool(std::span<const std::string>)>;
Result<OpenCsv> open_csv_like(const ColumnsConfig& said, const CsvDialect& model, CsvReader reader,
                              const FitsFirstLine& fits);

// Returns the cells of the first line, which stays to be read; none if there is none or it is
// malformed.
std::vector<std::string> first_line_of(const OpenCsv& file);
std::vector<std::string> texts_of(std::span<const CsvCell> cells);

// ColumnNames: what the columns of a file are called. A column is called by its cell in the header
// without blanks around it; by its place where that is empty, column_1; and NAME.1, NAME.2 where a
// column before has its name, as pandas calls it. Training, prediction and all other readers name
// columns by this class, so that they find the same ones.
class ColumnNames {
 public:
  explicit ColumnNames(std::span<const std::string> header);

  const std::vector<std::string>& all() const { return names_; }

  // Returns the column's place; also by its name as the header writes it, blanks included.
  std::optional<std::size_t> find(std::string_view name) const;

  // Returns "unknown column 'x'; did you mean ...; known: ...".
  std::string unknown(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> places_;
};

// Returns what the column at a place, from 0, is called without a header: column_1, ...
std::string name_of_place(std::size_t place);

// Returns the place that such a name says; nullopt: it is another name.
std::optional<std::size_t> place_in(std::string_view name);

}  // namespace detol::inline trainer

#pragma once

// TableEncoder: how the cells of a table become the numbers that a network reads. A record is one
// number per column, as its file has them less the column's offset (offsets.h): a number, a date as
// days since 1970-01-01, or the index of a category; NaN where the cell is missing. Each column
// gives one or more inputs:
//
//   standard   (x - mean) / deviation
//   quantile   the rank of x among the training records, from -sqrt(3) to sqrt(3): deviation 1
//   piecewise  one input for each interval between quantiles, which rises from 0 to 1 over it
//              (piecewise-linear encoding, Gorishniy et al., 2022, arXiv 2203.05556)
//   category   one input for each category, 1 for the record's own; the rare ones may share one
//
// A number that more training records have than an interval would, such as the zeros of a count, is
// an end of intervals; the other ends are quantiles of the remaining records.
//
// A missing number is replaced by the median of the training records, and marked by an input of
// its own where the training records have missing ones; a missing category is a category. What the
// training records do not have, a new category, is 0 in every input. Immutable once fitted; safe to
// share between threads.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace detol::inline trainer {

// The ends of a rank are this and its negative: sqrt(3), so that a uniform rank has deviation 1.
inline constexpr float kLargestRank = 1.7320508F;

// Returns the texts that stand for a missing cell, the empty one first: those by which pandas and
// the UCI archive write one.
std::span<const std::string_view> missing_words();

enum class ColumnKind { kNumber, kDate, kCategory };
enum class NumberEncoding { kStandard, kQuantile, kPiecewise };

struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;

  bool is_day_first = false;  // of dates between slashes

  // Of numbers and dates.
  NumberEncoding encoding = NumberEncoding::kStandard;
  float mean = 0, deviation = 1;  // standard: of the training records
  std::vector<float> knots = {};  // else: frequent numbers and quantiles of the rest, ascending
  float fill = 0;                 // stands for a missing number
  bool marks_missing = false;     // an input is 1 where the number is missing

  // Of categories: the texts that have an input each; a missing cell is the empty text.
  std::vector<std::string> categories = {};
  bool pools_rare = false;  // one more input, of all other categories

  std::size_t inputs() const;

  // Returns the number that stands for a category in a record: its index; categories.size() if it
  // is none of them.
  float code_of(std::string_view category) const;

  // Returns the first category that is the word but for the case of its letters.
  std::optional<std::string> category_spelled(std::string_view word) const;

  // Writes the column's inputs. REQUIRES: out.size() == inputs().
  void encode(float cell, std::span<float> out) const;

  friend bool operator==(const TableColumn& a, const TableColumn& b) = default;
};

// TableDialect: how the file to train on is written, which others of its kind likely are, too.
struct TableDialect {
  char separator = ',';
  char decimal = '.';
  bool has_header = true;

  friend bool operator==(const TableDialect& a, const TableDialect& b) = default;
};

struct TableEncoder {
  std::vector<TableColumn> columns;
  std::optional<TableDialect> dialect = {};  // nullopt: it was written before that was kept

  std::size_t inputs() const;

  // True if every column is a number that is only standardised: mean and deviation say everything.
  bool is_linear() const;

  // REQUIRES: record.size() == columns.size(), out.size() == inputs().
  void encode(std::span<const float> record, std::span<float> out) const;

  friend bool operator==(const TableEncoder& a, const TableEncoder& b) = default;
};

// ColumnCells: the cells of one column in the training records.
struct ColumnCells {
  std::vector<float> numbers = {};               // NaN: missing
  std::span<const std::string> dictionary = {};  // of a category: the texts that numbers stand for
};

// Fits the column's encoding to the training records. `column` has its name, kind and encoding;
// `bins` is the number of intervals between quantiles. Categories are sorted by how frequent they
// are; beyond 256, and below 3 records where others share an input, they are pooled.
void fit_column(TableColumn& column, const ColumnCells& training, int bins);

}  // namespace detol::inline trainer

#pragma once

// Whether the first line of a CSV file names its columns, told by what stands below it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/formats/record_numbers.h"

namespace detol::inline trainer {

// BelowCell: what a column has below its cell of the first line.
struct BelowCell {
  bool is_plain = false;      // numbers alone, or dates alone
  bool has_the_cell = false;  // also below
  bool has_gaps = false;      // missing cells
  bool repeats = false;       // has twice as many cells as different ones, or more
  const RecordNumbers* numbers = nullptr;
  std::int64_t records = 0;
};

struct HeaderGuess {
  bool is_header = false;
  std::string remark = {};  // where it may be otherwise
};

// A first line is a header if it has text above a column of numbers or dates; if its first cell is
// empty above the numbers of the records; if it counts the columns, 0, 1, 2 or 1, 2, 3, which no
// record does; or if all of it is text that does not stand below.
HeaderGuess guess_header(std::span<const std::string> first, std::span<const BelowCell> below,
                         char decimal);

}  // namespace detol::inline trainer

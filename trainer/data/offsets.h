#pragma once

// Offsets: what is subtracted from the numbers of a table, in double, before they are kept as
// floats. A float has 24 bits: seconds since 1970 would step by 128, and all records of one minute
// would be one number. What is left of a column once its median is subtracted has the
// same distances, and is all that the code behind the readers knows.
//
// Only a column whose numbers lie close together, compared with how large they are, has an offset:
// all others are kept as they are in the file. A table of common numbers has none at all.

#include <cstddef>
#include <span>
#include <vector>

namespace detol::inline trainer {

struct Offsets {
  std::vector<double> inputs = {};   // per column of a table, else per channel; empty: none
  std::vector<double> targets = {};  // per target of a regression; empty: none

  double of_input(std::size_t i) const { return inputs.empty() ? 0 : inputs[i]; }
  double of_target(std::size_t i) const { return targets.empty() ? 0 : targets[i]; }

  bool operator==(const Offsets&) const = default;
};

// OffsetFinder sees the numbers of a column, in their order, and keeps up to 1,024 of them.
class OffsetFinder {
 public:
  void add(double number);  // NaN and infinity are passed over
  void add(const OffsetFinder& other);

  // Returns the column's offset; 0 if floats are fine enough for the distances of its numbers.
  double offset() const;

 private:
  std::vector<double> kept_;  // each stride_-th number
  std::size_t stride_ = 1, seen_ = 0;
  double least_ = 0, most_ = 0;
};

// Returns the offsets of columns; empty if none has one.
std::vector<double> offsets_of(std::span<const OffsetFinder> columns);

}  // namespace detol::inline trainer

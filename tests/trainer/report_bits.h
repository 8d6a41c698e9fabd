#pragma once

// bits(): the numbers that two trainings must have in common to count as equal.

#include <bit>
#include <cstdint>
#include <vector>

#include "trainer/evaluator.h"

namespace detol {

// Returns every number of the reports except the seconds.
inline std::vector<std::uint64_t> bits(const std::vector<EpochReport>& reports) {
  std::vector<std::uint64_t> all;
  for (const EpochReport& report : reports) {
    all.push_back(std::bit_cast<std::uint64_t>(report.epochs()));
    all.push_back(std::bit_cast<std::uint64_t>(report.work));
    all.push_back(report.is_best ? 1 : 0);
    for (const Metric& m : report.metrics) all.push_back(std::bit_cast<std::uint64_t>(m.value));
  }
  return all;
}

}  // namespace detol

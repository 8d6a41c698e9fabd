#pragma once

// Basins: which candidates lie in one valley of the objective, by distance alone.
//
// The distance of two candidates is the root of the mean, over all choices that exist in one of
// them, of squared differences: of numbers in the unit cube, 1/4 where a category differs, 1 where
// the choice exists in one alone. It does not grow with the number of choices, so that one radius
// serves all spaces: two uniform draws of numbers are 0.4 apart. Pure.
//
// An observation is a peak if none within the radius is better: the nearest-better rule (Preuss,
// 2010, "Niching the CMA-ES via Nearest-Better Clustering", GECCO).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encodings/space/space.h"

namespace detol::inline search {

inline constexpr double kBasinRadius = 0.15;  // within it, the better observation owns the worse
inline constexpr double kCoreRadius = 0.1;    // within it, a proposal would polish the other's best

bool is_within(double radius, const Space& space, const Genome& a, const Genome& b);

// Branches: the unordered choices that decide which others exist, and their combinations.
class Branches {
 public:
  static constexpr double kMost = 10;  // combinations; in a space of more there are no branches

  explicit Branches(const Space& space);

  double count() const { return count_; }  // 1: there are no branches
  bool decides(std::size_t domain) const { return decides_[domain]; }
  std::uint64_t of(const Genome& genome) const;  // a number for each combination

 private:
  std::vector<bool> decides_;  // by domain
  double count_ = 1;
};

}  // namespace detol::inline search

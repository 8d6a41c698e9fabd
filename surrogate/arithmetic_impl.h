#pragma once

// Arithmetic that several files of this folder share. Private to this folder.

#include <limits>
#include <numeric>
#include <span>

namespace detol::inline surrogate {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the sum of products in the order of the numbers. REQUIRES: equal lengths.
inline double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace detol::inline surrogate

#pragma once

// Arithmetic that several files of this folder share. Private to this folder.

#include <cassert>
#include <cstddef>
#include <limits>
#include <span>

#include "surrogate/eigen_impl.h"

namespace detol::inline surrogate {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the sum of products. The order of the additions depends on the length alone: sums of the
// places that leave the same remainder by four, which a processor adds at once, then the rest.
// REQUIRES: equal lengths.
inline double dot(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  constexpr std::size_t kLanes = 4;
  using Lanes = Eigen::Array<double, kLanes, 1>;
  Lanes sums = Lanes::Zero();
  const std::size_t whole = a.size() / kLanes * kLanes;
  for (std::size_t j = 0; j < whole; j += kLanes)
    sums += Eigen::Map<const Lanes>(&a[j]) * Eigen::Map<const Lanes>(&b[j]);
  double sum = sums.sum();
  for (std::size_t j = whole; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

}  // namespace detol::inline surrogate

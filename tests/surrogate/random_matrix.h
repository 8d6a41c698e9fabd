#pragma once

// Covariances of random points, for tests.

#include <cmath>
#include <vector>

#include "core/rng.h"

namespace detol {

// 1 / (1 + 9 r^2) between points in the unit square: smooth, so nearly singular without noise.
class RandomCovariance {
 public:
  RandomCovariance(std::size_t points, std::uint64_t seed) {
    Rng rng(seed);
    for (std::size_t i = 0; i < points; ++i) points_.push_back({rng.uniform(), rng.uniform()});
  }

  double operator()(std::size_t i, std::size_t j) const {
    const double x = points_[i].x - points_[j].x, y = points_[i].y - points_[j].y;
    return 1 / (1 + 9 * (x * x + y * y));
  }

  // Returns the covariances of point i with those in `among`.
  std::vector<double> row(std::size_t i, const std::vector<std::size_t>& among) const {
    std::vector<double> row;
    for (const std::size_t j : among) row.push_back((*this)(i, j));
    return row;
  }

  // Returns the matrix of the first n points, row-major, with `noise` added to the diagonal.
  std::vector<double> matrix(std::size_t n, double noise) const {
    std::vector<double> matrix;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) matrix.push_back((*this)(i, j) + (i == j ? noise : 0.0));
    return matrix;
  }

 private:
  struct Position {
    double x, y;
  };
  std::vector<Position> points_;
};

}  // namespace detol

#pragma once

// Eigen for the .cpp files of this folder that use its blocked algorithms. Eigen sizes its blocks
// by the caches it finds, so sums would be rounded differently on another processor;
// kEigenBlocksAreFixed sets the cache sizes of one fixed machine.

#include <Eigen/Dense>

namespace detol::inline surrogate {

inline const bool kEigenBlocksAreFixed = [] {
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20);
  return true;
}();

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Index to_index(std::size_t i) {
  return static_cast<Eigen::Index>(i);
}

}  // namespace detol::inline surrogate

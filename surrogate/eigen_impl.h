#pragma once

// Eigen, for .cpp files of this folder that use its blocked algorithms. It sizes its blocks by the
// caches it finds, so that sums would be rounded otherwise on another processor; here they are
// those of one fixed machine.

#include <Eigen/Dense>

namespace detol {

inline const bool kEigenBlocksAreFixed = [] {
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20);
  return true;
}();

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace detol

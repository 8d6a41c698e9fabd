#pragma once

// The plane in which a training moved most: the first two principal components of the weights that
// it passed (Li et al., 2018, arXiv 1712.09913, section 7).

#include <array>
#include <span>
#include <vector>

#include "encodings/network/network.h"
#include "trainer/backends/weights.h"

namespace detol::inline trainer {

struct PathPlane {
  // Two orthogonal directions of length 1, zero for running statistics. The second is zero where
  // the path is straight.
  Weights first, second;
  std::vector<double> x, y;              // of each point of the path; its last point is (0, 0)
  std::array<double, 2> explained = {};  // shares of the path's variance along the directions
};

// Returns the plane. The signs are such that the path's first point has no positive coordinate.
// O(points^2 x weights). REQUIRES: two points or more, which fit the network.
PathPlane plane_of_path(const Network& network, std::span<const Weights> path);

}  // namespace detol::inline trainer

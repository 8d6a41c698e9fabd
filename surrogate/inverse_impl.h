#pragma once

// The inverse of a positive definite matrix from its Cholesky factor, in place. Private to this
// folder.

#include "surrogate/eigen_impl.h"

namespace detol {

// The lower triangle of `factor` is L, and becomes that of (L L^T)^-1; what lies above it is
// overwritten. O(2/3 n^3), three parts of four of it matrix products. Nothing is allocated.
void invert_from_factor(Eigen::Ref<Eigen::MatrixXd> factor);

}  // namespace detol

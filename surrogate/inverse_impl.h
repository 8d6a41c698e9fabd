#pragma once

// The inverse of a positive definite matrix from its Cholesky factor, in place. Private to this
// folder.

#include "surrogate/eigen_impl.h"

namespace detol::inline surrogate {

// Replaces L, the lower triangle of `factor`, by that of (L L^T)^-1, and overwrites the upper one.
// O(2/3 n^3), three quarters of it matrix products. Nothing is allocated.
void invert_from_factor(Eigen::Ref<Eigen::MatrixXd> factor);

}  // namespace detol::inline surrogate

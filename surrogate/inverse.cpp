// Both steps halve the matrix until a block fits the nearest cache:
//
//   [A 0; B C]^-1  = [A^-1 0; -C^-1 B A^-1  C^-1]
//   [P 0; D Q]^T [P 0; D Q] = [P^T P + D^T D  .; Q^T D  Q^T Q]
//
// so that nearly all work is in products of large blocks, and the zeros cost nothing. (Eigen's
// solve() for the identity takes three times the operations.)
#include "surrogate/eigen_impl.h"
#include "surrogate/inverse_impl.h"

namespace detol::inline surrogate {
namespace {

using Eigen::Index;
using Eigen::Lower;
using Block = Eigen::Ref<Eigen::MatrixXd>;

constexpr Index kLeaf = 48;
using Leaf = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kLeaf, kLeaf>;

// Replaces the lower triangle L by L^-1.
void invert_triangle(Block lower) {
  const Index n = lower.rows(), half = n / 2;
  if (n <= kLeaf) {
    Leaf inverse = Leaf::Identity(n, n);
    lower.triangularView<Lower>().solveInPlace(inverse);
    lower.triangularView<Lower>() = inverse;
    return;
  }
  Block first = lower.topLeftCorner(half, half);
  Block below = lower.bottomLeftCorner(n - half, half);
  Block second = lower.bottomRightCorner(n - half, n - half);
  second.triangularView<Lower>().solveInPlace(below);
  first.triangularView<Lower>().solveInPlace<Eigen::OnTheRight>(below);
  below = -below;
  invert_triangle(first);
  invert_triangle(second);
}

// Replaces the lower triangle W by that of W^T W.
void square_triangle(Block lower) {
  const Index n = lower.rows(), half = n / 2;
  if (n <= kLeaf) {
    const Leaf triangle = lower.triangularView<Lower>();
    lower.triangularView<Lower>() = triangle.transpose() * triangle;
    return;
  }
  Block first = lower.topLeftCorner(half, half);
  Block below = lower.bottomLeftCorner(n - half, half);
  Block above = lower.topRightCorner(half, n - half);  // room for a copy
  Block second = lower.bottomRightCorner(n - half, n - half);
  square_triangle(first);
  first.selfadjointView<Lower>().rankUpdate(below.transpose());
  above = below.transpose();
  below.noalias() = second.triangularView<Lower>().transpose() * above.transpose();
  square_triangle(second);
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): it is written to
void invert_from_factor(Eigen::Ref<Eigen::MatrixXd> factor) {
  invert_triangle(factor);
  square_triangle(factor);
}

}  // namespace detol::inline surrogate

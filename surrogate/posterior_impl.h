#pragma once

// PosteriorDensity: the logarithm of the posterior density of a kernel's parameters, and its
// gradient, many times for the same observations. All memory of size n^2 is held from the start: 3
// n^2 doubles, with graphs 4 n^2 more. Private to this folder. Not thread-safe.
//
// With alpha = K^-1 (y - m) and W = alpha alpha^T - K^-1, the gradient of the likelihood is
//
//   d log p / d theta = 1/2 sum_ij W_ij dK_ij / d theta
//
// (Rasmussen and Williams, 2006, equation 5.9). The generalised least squares mean m maximises the
// likelihood, so that its own change with theta adds nothing. By the coordinates of theta, with z
// of surrogate/metric.h and s = 5/3 (1 + sqrt(5) r) exp(-sqrt(5) r - P):
//
//   length    (a + c k_arch) s (z_j - z'_j)^2 / l_j^2
//   shear     -(a + c k_arch) s (z_j - z'_j) (x_i - x'_i) / l_j^2
//   penalty   -(a + c k_arch) k_hp w [c != c'],  P = sum_j w_j [c_j != c'_j]

#include <array>
#include <span>
#include <vector>

#include "surrogate/eigen_impl.h"
#include "surrogate/fit_prior.h"
#include "surrogate/kernel.h"

namespace detol::inline surrogate {

class PosteriorDensity {
 public:
  PosteriorDensity(const Features& features, const Points& points, std::span<const double> y);

  const ParameterList& list() const { return list_; }
  std::size_t observations() const { return static_cast<std::size_t>(y_.size()); }

  // Returns the log density at these coordinates in the order of list(): minus infinity, with a
  // gradient of zeros, where the matrix is not positive definite; never NaN. `gradient` may be
  // empty, which saves two thirds.
  double operator()(std::span<const double> coordinates, int depth, Pooling pooling,
                    std::span<double> gradient);

 private:
  void fill(const KernelParameters& now);
  void fill_column(Eigen::Index j, const KernelParameters& now);
  double likelihood(const KernelParameters& now);
  void add_gradient(const KernelParameters& now, std::span<double> gradient);
  void add_column_gradient(Eigen::Index j, const KernelParameters& now, std::span<double> gradient);
  void add_shear_gradient(const KernelParameters& now, std::span<double> gradient);

  ParameterList list_;
  std::vector<std::size_t> length_of_, sheared_;
  Eigen::ArrayXXd numbers_, scaled_;                          // n x columns: x, and z / l
  Eigen::ArrayXXd categories_;                                // n x columns
  std::array<Eigen::MatrixXd, GraphFeatures::kLevels> arch_;  // lower triangles, by depth
  Eigen::VectorXd y_;

  // The buffers of one evaluation; of the matrices only the lower triangles are used.
  Eigen::MatrixXd matrix_;                                     // K, then L, then K^-1
  Eigen::ArrayXXd matern_, slope_;                             // k_hp, -2 dk_hp / d(r^2)
  Eigen::VectorXd alpha_, ones_;                               // K^-1 (y - m), L^-1 1
  Eigen::ArrayXd squares_, root_, penalty_, weights_, inner_;  // of one column
};

}  // namespace detol::inline surrogate

#pragma once

// Kernel: the covariance of two points. It computes rows of the covariance matrix.
//
//   k_hp   = Matern_5/2(r) exp(-sum_j w_j [c_j != c'_j]),   r of surrogate/metric.h
//   k_arch = the Weisfeiler-Lehman kernel of depth h
//   k      = a k_hp + b k_arch + c k_hp k_arch
//
// All of them are stationary: k(x, x) = a + b + c. Without graphs only a counts. Matern: Rasmussen
// and Williams, 2006, "Gaussian Processes for Machine Learning", equation 4.17. Immutable; safe to
// share between threads.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/features.h"
#include "surrogate/metric.h"
#include "surrogate/points.h"

namespace detol::inline surrogate {

// KernelParameters: everything that a fit learns. Lengths are in units of the unit cube.
struct KernelParameters {
  std::vector<double> lengths;               // l, one per Features::lengths()
  std::vector<double> penalties;             // w, one per column of categories
  std::vector<double> shears;                // u, one per Features::shears(), row by row
  double numbers = 1, graphs = 0, both = 0;  // a, b, c: variances
  int depth = 2;                             // h
  double noise = 1e-3;                       // variance, added on the diagonal

  friend bool operator==(const KernelParameters& a, const KernelParameters& b) = default;
};

inline bool has_shears(const KernelParameters& parameters) {
  return std::ranges::any_of(parameters.shears, [](double shear) { return shear != 0; });
}

// Returns the start of a first fit: moderate lengths, no shears, little noise.
KernelParameters default_parameters(const Features& features);

// to_numbers() writes the parameters as a list of numbers for the ledger, from_numbers() reads it.
// REQUIRES: both for the same features.
std::vector<double> to_numbers(const KernelParameters& parameters);
KernelParameters from_numbers(std::span<const double> numbers, const Features& features);

class Kernel {
 public:
  Kernel(const Features& features, KernelParameters parameters);

  const KernelParameters& parameters() const { return parameters_; }
  double variance() const { return parameters_.numbers + parameters_.graphs + parameters_.both; }
  const Metric& metric() const { return metric_; }

  // Sets out[i] = k(x, points[first + i]).
  void row(const Point& x, const Points& points, std::span<double> out,
           std::size_t first = 0) const;

  // Returns the gradient of sum_i weights[i] k(x, points[i]) by the columns of numbers of x.
  std::vector<double> gradient(const Point& x, const Points& points,
                               std::span<const double> weights) const;

  // Returns the covariance matrix of the points, row-major n x n, without the noise.
  std::vector<double> gram(const Points& points) const;
  // Returns its lower triangle alone, with zeros above: the other half costs as much to copy.
  std::vector<double> lower_gram(const Points& points) const;

 private:
  KernelParameters parameters_;
  Metric metric_;
};

}  // namespace detol::inline surrogate

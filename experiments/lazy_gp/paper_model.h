#pragma once

// PaperModel: the Gaussian process of the paper (Ram, Mueller, Pfreundt, Gauger and Keuper, 2019,
// arXiv 2001.05726): Matern-5/2 with one length scale, variance 1 and noise 1e-6, of outcomes less
// their arithmetic mean m. With z = L^-1 y and o = L^-1 1 a new outcome, which changes m, costs no
// new solve:
//
//   mean(x) = m + k(x, X).L^-T (z - m o)      variance(x) = 1 - |L^-1 k(X, x)|^2
//
// (LazyGp is not used because its mean is that of generalised least squares.) An observation that
// is a copy of others to working precision is left out; the paper's program raises an error.
// Not thread-safe.

#include <optional>
#include <span>
#include <vector>

#include "surrogate/cholesky.h"
#include "surrogate/kernel.h"
#include "surrogate/lazy_gp.h"

namespace detol {

class PaperModel {
 public:
  // `lengths`: those of the kernel, in units of the unit cube. `features` outlives the model.
  PaperModel(const Features& features, std::vector<double> lengths);

  std::size_t size() const { return points_.size(); }
  void append(const Point& x, double y);  // O(n^2)
  double best() const;                    // the least outcome. REQUIRES: size() > 0

  // Returns a model with all lengths times the factor of greatest likelihood, found by some 20
  // factorisations: O(n^3). Nothing if none of them succeeds.
  std::optional<PaperModel> refitted() const;

  std::vector<Prediction> predict(const Points& points) const;
  LazyGp::Slope slope(const Point& x) const;

 private:
  PaperModel scaled(double factor) const;  // the same observations, other lengths
  double log_likelihood() const;           // -infinity if factorising failed
  double mean() const;
  void outcomes_changed();

  const Features* features_;
  Kernel kernel_;
  Points points_;
  Cholesky factor_;
  std::vector<double> y_, z_, o_;
  std::vector<double> weights_;  // L^-T (z - m o)
};

}  // namespace detol

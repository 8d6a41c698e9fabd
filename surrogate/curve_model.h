#pragma once

// CurveModel: a model of a population of learning curves, as regressions of each epoch on those
// before it. A curve is a row of values at fixed epochs, of which only the first few may be
// known; stopping bad curves early causes no bias, because each regression uses all curves that
// reached its epoch (Anderson, 1957, Journal of the American Statistical Association 52, on
// monotone missing data).
//
// A priori a curve is a Gaussian process around a mean curve that is wholly unknown, with the
// kernel of Swersky, Snoek and Adams (2014, "Freeze-Thaw Bayesian Optimization", arXiv 1406.3896):
//
//   k(s, t) = level + decay (scale / (s + t + scale))^shape + noise [s = t]
//
// Its terms are where a curve ends, how it gets there (a mixture of exponential decays) and noise.
// The true covariance is inverse-Wishart around that (a Student-t process: Shah, Wilson and
// Ghahramani, 2014, AISTATS, arXiv 1402.4306): with A_j = strength K + S_j, where S_j is the
// scatter of the n_j curves that got to epoch j around their mean, the last row of the Cholesky
// factor of A_j gives the regression of epoch j. With few curves the kernel decides, with many the
// curves themselves, with the effects of schedules and warm-ups.
//
// T epochs cost O(T^4 / 12) for a fit's evaluation, whatever the number of curves, once their
// scatter is known, O(n T^2). Immutable.

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/lazy_gp.h"

namespace detol::inline surrogate {

struct CurveKernel {
  double level = 1, decay = 1, noise = 0.01;  // variances, of values with deviation about 1
  double scale = 3, shape = 1;                // of the decay, in epochs
  double strength = 20;                       // number of curves that the kernel counts as

  double operator()(double s, double t) const;
};

// CurveScatter: means and scatter matrices of many curves.
class CurveScatter {
 public:
  // REQUIRES: every curve is as long as `epochs` or shorter.
  CurveScatter(std::span<const double> epochs, const std::vector<std::vector<double>>& curves);

  // Step j: statistics of the first j + 1 values of the curves that have so many.
  struct Step {
    std::size_t curves = 0;
    std::vector<double> mean;     // j + 1
    std::vector<double> scatter;  // (j + 1) x (j + 1), around the mean
  };
  const std::vector<double>& epochs() const { return epochs_; }
  const Step& step(std::size_t j) const { return steps_[j]; }

 private:
  std::vector<double> epochs_;
  std::vector<Step> steps_;
};

class CurveModel {
 public:
  CurveModel(const CurveScatter& scatter, const CurveKernel& kernel);

  // Returns the logarithm of the curves' density, up to a constant.
  double log_evidence() const { return log_evidence_; }

  // Forecast: the value at epoch number `target` given the first `known` values has the mean
  // constant + weights . values and a variance that predict() computes from the two below; infinite
  // where fewer than four curves got so far.
  struct Forecast {
    double constant = 0;
    std::vector<double> weights;
    double variance = 0, variance_by_surprise = 0;
  };
  std::vector<Forecast> forecasts(std::size_t target) const;  // one for each known = 0 ... target

  // Returns the sum of the squared innovations of a curve's values, which is about their number if
  // the curve is like the others. O(n^2).
  double surprise(std::span<const double> values) const;

  // Returns the forecast for these values with the variance of a Student-t process, which is
  // greater for a curve that was unlike the others. REQUIRES: forecast =
  // forecasts(target)[values.size()].
  Prediction predict(const Forecast& forecast, std::span<const double> values) const;

 private:
  struct Step {
    std::vector<double> slopes;
    double constant = 0;
    double variance = 0;  // of the residuals
    double curves = 0;    // number of curves that it was learned from
  };
  void add_uncertainty(Forecast& forecast, double variance, double curves) const;

  double strength_;
  std::vector<Step> steps_;
  double log_evidence_ = 0;
};

// Returns the kernel of greatest posterior density, searched from `start` (NLopt, without
// gradients). Deterministic.
CurveKernel fit_curve_kernel(const CurveScatter& scatter, const CurveKernel& start);

}  // namespace detol::inline surrogate

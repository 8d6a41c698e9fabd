#pragma once

// fit() finds the kernel parameters of greatest posterior density (MAP), by L-BFGS (NLopt) over
// their logarithms (and the shears) with analytic gradients.
//
//   log p(y | X, theta) = -1/2 (y - m)^T K^-1 (y - m) - 1/2 log |K| - n/2 log 2 pi,
//   with m the generalised least squares mean
//
// plus the logarithm of the prior: for each length -(0.1 l^2 + 0.1 / l^2), the variance
// Gamma(2, 1), the noise Gamma(1.1, 30) above a floor (as Optuna's GPSampler; we measured that it
// beats the dimension-scaled log-normal prior up to 20 dimensions). In more, lengths have a
// log-normal prior whose mean grows with the dimension (Hvarfner, Hellsten and Nardi, 2024, ICML,
// arXiv 2402.02229). Lengths are about alike (partial pooling) unless the observations pay for
// parameters that matter differently. Shears are all 0 unless the observations pay for them: a
// linear map of the numbers is a model of its own, chosen by the Bayesian information criterion.
// surrogate/fit_prior.h has all priors, with those of penalties and graphs.
//
// An evaluation costs O(n^3): 6.5 ms at n = 500 and 40 ms at n = 1000 of ten numbers, on one core;
// memory is 3 n^2 doubles, with graphs 7 n^2. A fit takes 15 to 60 evaluations: of numbers 36 to
// 46 in the mean of a search, of categories alone 18. It climbs with pooled lengths, with free
// ones, with shears, and, with graphs, at other depths. Pure; safe from any thread.
//
// SteppedFit is the same fit, a few evaluations at a time.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "surrogate/kernel.h"

namespace detol::inline surrogate {

struct FitSettings {
  int max_evaluations = 60;   // of the posterior; at least 2
  double least_noise = 1e-6;  // variance, of outcomes with variance 1
};

struct FitResult {
  KernelParameters parameters;
  double log_posterior = 0;  // up to the prior's constant
  int evaluations = 0;
};

// Returns the best of all parameters that were evaluated, never worse than the start clamped to
// the bounds. REQUIRES: as many outcomes as points, at least one; standardised outcomes (variance
// about 1).
FitResult fit(const Features& features, const Points& points, std::span<const double> y,
              const KernelParameters& start, const FitSettings& settings = {});

// SteppedFit: a fit() that is interrupted and continued, to the same result. It keeps what it needs
// of its arguments, and the memory of an evaluation. Not thread-safe.
class SteppedFit {
 public:
  SteppedFit(const Features& features, const Points& points, std::span<const double> y,
             const KernelParameters& start, FitSettings settings = {});
  SteppedFit(SteppedFit&&) noexcept;
  SteppedFit& operator=(SteppedFit&&) noexcept;
  ~SteppedFit();

  // Makes at most so many more evaluations, at least one. Returns true if the fit has ended.
  bool advance(int evaluations);

  FitResult result() const;  // so far. REQUIRES: advance() was called

 private:
  class Climber;
  FitSettings settings_;
  KernelParameters start_;
  std::unique_ptr<Climber> climber_;
};

// Posterior: the log density that fit() maximises, and its gradient by the logarithms of the
// parameters, and by the shears themselves, in the order of to_numbers() without the depth (0 for
// the weights of graphs where there are none). Minus infinity where the matrix is not positive
// definite. For tests and diagnosis.
struct Posterior {
  double log_density = 0;
  std::vector<double> gradient;
};
Posterior log_posterior(const Features& features, const Points& points, std::span<const double> y,
                        const KernelParameters& parameters);

}  // namespace detol::inline surrogate

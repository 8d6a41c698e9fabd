#pragma once

// Thompson samples: functions drawn from the posterior of a LazyGp, of the function, without noise.
//
// PathwiseSample is such a function, for processes over numbers alone (Wilson, Borovitskiy,
// Terenin, Mostowsky and Deisenroth, 2020, "Efficiently Sampling Functions from Gaussian Process
// Posteriors", ICML, arXiv 2002.09309; 2021, "Pathwise Conditioning of Gaussian Processes", JMLR,
// arXiv 2011.04026): a draw g of the prior is moved to the observations,
//
//   f(x) = m + g(x) + k(x, X) K^-1 (y - m - g(X) - e),   e ~ N(0, noise)
//
// where g is a sum of random waves (Rahimi and Recht, 2007, NIPS). Its distribution is exact where
// there are observations; far from them the covariance is off by about 1 / sqrt(kWaves) of the
// variance.
//
// JointPosterior samples any process exactly, at fixed candidates.

#include <cstddef>
#include <span>
#include <vector>

#include "core/rng.h"
#include "surrogate/lazy_gp.h"

namespace detol::inline surrogate {

// Returns true for a kernel of numbers alone.
bool has_pathwise_samples(const LazyGp& process);

// PathwiseSample: a function of the process and the stream. Valid while the process lives and does
// not change. Reading it is thread-safe; the constructor is so where LazyGp::weights() is.
class PathwiseSample {
 public:
  static constexpr std::size_t kWaves = 512;  // as good as 1,024 features of cosines and sines

  // O(n^2 + n d kWaves) for n rows of d numbers. REQUIRES: has_pathwise_samples(process).
  PathwiseSample(const LazyGp& process, Rng rng);

  // Returns the function's values. O((n + kWaves) d) per point.
  std::vector<double> values(const Points& points) const;

 private:
  std::vector<double> prior(const Points& points) const;  // g

  const LazyGp* process_;
  std::vector<double> frequencies_;          // column-major: waves x columns of numbers
  std::vector<double> starts_, amplitudes_;  // of each wave
  std::vector<double> weights_;              // K^-1 (y - m - g(X) - e)
};

// JointPosterior: the joint posterior at m candidates, from which many samples may be drawn.
// Immutable.
class JointPosterior {
 public:
  // O(n^2 m + n m^2 + m^3) and 8 (n m + m^2) bytes: for some hundred candidates.
  JointPosterior(const LazyGp& process, const Points& candidates);

  // Draws a value per candidate. O(m^2).
  std::vector<double> sample(Rng rng) const;

 private:
  std::vector<double> mean_;
  std::vector<double> root_;  // row-major m x m, root root^T is the covariance
};

inline std::vector<double> sample_at(const LazyGp& process, const Points& candidates, Rng rng) {
  return JointPosterior(process, candidates).sample(rng);
}

}  // namespace detol::inline surrogate

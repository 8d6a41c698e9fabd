#pragma once

// Comparison of two runs by the losses of their trials, in the order in which they were asked for.
// Losses are finite and minimised. Pure functions.

#include <cstddef>
#include <span>
#include <vector>

namespace detol::inline surrogate {

// Superiority is the probability that a random trial of one run has a smaller loss than a random
// trial of another (equal ones count half), with its confidence interval.
struct Superiority {
  double probability = 0.5;
  double low = 0, high = 1;
};

// Compares the trials of two runs. The trials of a search depend on those before them, so the
// interval is that of fewer independent trials (comparison.cpp). It is about these trials: what
// another seed would give, one run cannot say. O(n log n + 1000 n).
// REQUIRES: both have a trial; 0 < confidence < 1.
Superiority superiority(std::span<const double> losses, std::span<const double> others,
                        double confidence);

// Progress is how a run got to its best loss.
struct Progress {
  double best = 0;
  std::size_t trials_to_best = 0;  // counted from 1: the first that has it
  std::vector<double> best_at;     // the best of the first `counts[i]` trials
};

// REQUIRES: each count is at least 1 and at most the number of losses.
Progress progress_of(std::span<const double> losses, std::span<const std::size_t> counts);

}  // namespace detol::inline surrogate

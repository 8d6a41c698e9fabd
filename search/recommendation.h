#pragma once

// Recommendation: which of the measured trials is best, where measurements are noisy. The best
// measured value of many is an optimistic pick: its noise helped it. A Gaussian process smooths the
// values by those of trials like each, and the best by value are ranked by its posterior mean.
// Pure; safe from any thread.

#include <cstddef>
#include <span>
#include <vector>

#include "encodings/space/space.h"
#include "encodings/space/trial.h"

namespace detol::inline search {

// MeasuredTrial: a trial with its value of the objective, at the same fidelity as the others.
struct MeasuredTrial {
  TrialId id = 0;
  Genome genome;
  double value = 0;               // finite
  bool keeps_constraints = true;  // else no best trial
};

// Recommended: what is expected of a trial without noise, in the objective's units.
struct Recommended {
  TrialId id = 0;
  double mean = 0, deviation = 0;
};

inline constexpr std::size_t kLeastTrialsToRecommend = 5;
inline constexpr std::size_t kMostTrialsToRecommend = 1500;

// Returns the trials, the best first: of those that keep to the constraints the twentieth with the
// best values, five at least, by their means, then the others by theirs; of equal means the better
// value is first, then the earlier trial. A process that takes the detail of a function with many
// optima for noise would otherwise name a trial that is far worse than the best
// (experiments/search_quality/LOG.md). Of more than `most` trials it takes the best third of so
// many and draws the rest, always the same. The process is of transformed values
// (surrogate/transform.h): `mean` is the value whose transform is the posterior mean, which is the
// median in the objective's units, and `deviation` half of the distance between those one posterior
// deviation to both sides. O(n^3): seconds for 1,500 trials. REQUIRES: at least
// kLeastTrialsToRecommend trials of the space.
std::vector<Recommended> recommend(const Space& space, Direction direction,
                                   std::span<const MeasuredTrial> trials,
                                   std::size_t most = kMostTrialsToRecommend);

}  // namespace detol::inline search

#pragma once

// GradientSums replaces the gradients of the ranks of a group by their sum, bucket by bucket and
// while the backward pass runs, compressed as the recipe says. With `staleness` S the sum of step t
// is what the update of step t + S goes by, so that no rank waits for another before it is S steps
// ahead of it; the first S steps update nothing, and the last S sums are never used. That is
// delayed SGD (Zinkevich, Langford and Smola, 2009, "Slow learners are fast") by decentralised
// pipelining (Li et al., 2018, Pipe-SGD, arXiv 1811.03619): the delay is S, neither more nor less,
// whoever is fast, and the numbers do not depend on time.
//
// Allocates nothing in a step.

#include <memory>
#include <span>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/collectives/compression.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {

// SumsState carries over from step to step, in the layout of the flat gradients.
struct SumsState {
  std::vector<std::vector<float>> residuals;  // of each rank; none without error feedback
  std::vector<std::vector<float>> pending;    // sums that no update went by yet, oldest first
};

// Counts the copies of the gradients that a rank keeps between steps: a residual, sums in flight.
int kept_copies(const Recipe& recipe);

class GradientSums {
 public:
  // `buckets` do not overlap and are in the order in which they will be started. The group outlives
  // the sums.
  GradientSums(const Recipe& recipe, Group& group, std::span<const GradientBucket> buckets);

  // Begins the sum of the next bucket of this step's gradients, which are not to be touched
  // until finish().
  void start_next(std::span<float> gradients);

  // Replaces the same gradients by those of the step's update; false: there are none yet.
  // REQUIRES: every bucket was started.
  bool finish(std::span<float> gradients);
  int staleness() const { return static_cast<int>(rounds_.size()) - 1; }

  // Between two steps, on every rank: finishes what is in flight and shows every rank's residual
  // to all.
  void share();
  // REQUIRES: share() since the last step.
  SumsState state() const;
  // Accepts the state of another number of ranks: nothing that was kept back is lost.
  void set_state(const SumsState& state);

 private:
  // One step's sums; `values` where they outlive the step.
  struct Round {
    std::vector<std::unique_ptr<BucketSum>> sums;
    std::vector<float> values;
    bool is_in_flight = false;
  };
  void finish(Round& round);
  std::size_t pending() const;

  Group& group_;
  const std::vector<GradientBucket> buckets_;
  std::vector<float> residual_;
  std::vector<std::vector<float>> shared_residuals_;
  std::vector<Round> rounds_;  // a ring: step i's in round i % size
  std::size_t steps_ = 0;      // begun
  std::size_t next_ = 0;       // bucket
};

}  // namespace detol::inline trainer

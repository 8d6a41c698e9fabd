#pragma once

// GradientSums replaces the gradients of the ranks of a group by their sum, bucket by bucket and
// while the backward pass runs, compressed as the recipe says. With `staleness` S the update of
// step t + S uses the sum of step t, so that a rank waits only for ranks that are S steps behind
// it; the first S steps update nothing, and the last S sums are never used. This is delayed SGD
// (Zinkevich, Langford and Smola, 2009, "Slow learners are fast") by decentralised pipelining (Li
// et al., 2018, Pipe-SGD, arXiv 1811.03619): the delay is exactly S, however fast the ranks are, so
// that the numbers do not depend on time.
//
// Allocates nothing in a step.

#include <memory>
#include <span>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/collectives/compression.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {

// SumsState is what the sums keep between steps, in the layout of the flat gradients.
struct SumsState {
  std::vector<std::vector<float>> residuals;  // of each rank; none without error feedback
  std::vector<std::vector<float>> pending;    // sums that no update has used yet, oldest first
};

// Returns the bytes that the sums of a rank of so many take: buffers of all buckets, which may be
// in flight at once, gradients that wait for their update, the residuals of all ranks, which each
// has since share(); 0 for one rank.
std::size_t bytes_of_sums(const Recipe& recipe, std::span<const GradientBucket> buckets, int ranks);

class GradientSums {
 public:
  // `buckets` do not overlap and are in the order in which they will be started. The group outlives
  // the sums.
  GradientSums(const Recipe& recipe, Group& group, std::span<const GradientBucket> buckets);

  // Begins the sum of the next bucket of this step's gradients, which the caller must not touch
  // until finish().
  void start_next(std::span<float> gradients);

  // Replaces the same gradients by those for the step's update; returns false if there are none
  // yet. REQUIRES: every bucket was started.
  bool finish(std::span<float> gradients);
  int staleness() const { return static_cast<int>(rounds_.size()) - 1; }

  // Finishes the sums in flight and sends every rank's residual to all ranks. REQUIRES: called
  // between two steps, on every rank.
  void share();
  // Returns what is kept between steps. REQUIRES: share() since the last step.
  SumsState state() const;
  // Accepts the state of another number of ranks: residuals of missing ranks are added to others'.
  void set_state(const SumsState& state);

 private:
  // Round: one step's sums; `values` is empty unless they outlive the step.
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
  std::vector<Round> rounds_;  // a ring: those of step i in round i % size
  std::size_t steps_ = 0;      // finished, from the oldest restored on
  std::size_t next_ = 0;       // the next bucket
};

}  // namespace detol::inline trainer

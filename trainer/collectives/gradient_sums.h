#pragma once

// GradientSums: the gradients of the ranks of a group become their sum, a stretch at a time and
// beside the backward pass, compressed as the recipe says. With `staleness` S the sum of step t is
// what the update of step t + S goes by, so that no rank waits for another before it is S steps
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

namespace detol {

// What goes from step to step, in the layout of the flat gradients.
struct SumsState {
  std::vector<std::vector<float>> residuals;  // of each rank; none without error feedback
  std::vector<std::vector<float>> pending;    // sums that no update went by yet, oldest first
};

// Copies of the gradients that a rank of a group keeps between steps: a residual, sums under way.
int kept_copies(const Recipe& recipe);

class GradientSums {
 public:
  // Stretches without overlap, in the order in which they will be started. The group outlives it.
  GradientSums(const Recipe& recipe, Group& group, std::span<const Stretch> stretches);

  // Begins the sum of the next stretch of this step's gradients, which are not to be touched
  // until finish().
  void start_next(std::span<float> gradients);

  // The same gradients become what the step's update goes by; false: there is nothing yet.
  // REQUIRES: every stretch was started.
  bool finish(std::span<float> gradients);
  int staleness() const { return static_cast<int>(rounds_.size()) - 1; }

  // Between two steps, on every rank: finishes what is under way and shows every rank's residual
  // to all.
  void share();
  // REQUIRES: share() since the last step.
  SumsState state() const;
  // Of another number of ranks, too: nothing that was kept back is lost.
  void set_state(const SumsState& state);

 private:
  // One step's sums; `values` where they outlive the step.
  struct Round {
    std::vector<std::unique_ptr<StretchSum>> sums;
    std::vector<float> values;
    bool is_under_way = false;
  };
  void finish(Round& round);
  std::size_t pending() const;

  Group& group_;
  const std::vector<Stretch> stretches_;
  std::vector<float> residual_;
  std::vector<std::vector<float>> shared_residuals_;
  std::vector<Round> rounds_;  // a ring: step i's in round i % size
  std::size_t steps_ = 0;      // begun
  std::size_t next_ = 0;       // stretch
};

}  // namespace detol

#pragma once

// RankStep: what a rank of a group does beside its own step: the sums of the gradients over the
// ranks, late ones too (gradient_sums.h), and the state that ranks exchange. The gradients are
// flat, in the memory of the host. Not thread-safe.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"
#include "trainer/collectives/gradient_sums.h"

namespace detol::inline trainer::program {

class RankStep {
 public:
  // `buckets` as of GradientSums. The group outlives this object. REQUIRES: several ranks.
  RankStep(const Recipe& recipe, Group& group, std::span<const GradientBucket> buckets);

  // Begins the sum of the next bucket of the step's gradients, which must not be touched until
  // finish().
  void start_next(std::span<float> gradients);

  // Begins the sums that are not begun yet, waits for all, and replaces the gradients by those to
  // update with. Returns the settings of their step; nullopt if there are no such gradients yet.
  std::optional<StepSettings> finish(std::span<float> gradients, const StepSettings& settings);

  void share() { sums_.share(); }  // as Executable::share_state()

  // Convert one flat array of gradients to tensors in the plain layout and back.
  using ToTensors = std::function<Weights(std::span<const float>)>;
  using ToFlat = std::function<std::vector<float>(const Weights&)>;
  void save(TrainingState& state, const ToTensors& to_tensors) const;
  void restore(const TrainingState& state, const ToFlat& to_flat);

 private:
  std::size_t buckets_ = 0, started_ = 0;
  GradientSums sums_;
};

}  // namespace detol::inline trainer::program

#include "trainer/backends/program/executable.h"

#include <algorithm>

namespace detol::inline trainer::program {

void ProgramExecutable::sum_over_ranks(std::span<const GradientBucket> buckets) {
  const Program& p = program();
  if (p.group().size() > 1) ranks_.emplace(p.recipe(), p.group(), buckets);
}

void ProgramExecutable::clear_unused_images(const Shard& shard) {
  const auto used = static_cast<std::size_t>(shard.count) * images().size() / labels().size();
  std::ranges::fill(images().subspan(used), 0.0F);
}

void ProgramExecutable::share_statistics() {
  Group& group = program().group();
  if (group.size() == 1) return;
  FlatParameters& parameters = program().flat_parameters();
  std::vector<float> own = parameters.statistics();
  if (group.rank() != 0) std::ranges::fill(own, 0.0F);
  group.sum(std::span(own));
  parameters.set_statistics(own);
}

void ProgramExecutable::share_state() {
  if (ranks_) ranks_->share();
}

TrainingState ProgramExecutable::state() const {
  const FlatParameters& parameters = program().flat_parameters();
  TrainingState state = parameters.state();
  if (ranks_)
    ranks_->save(state, [&](std::span<const float> flat) { return parameters.plain_of(flat); });
  return state;
}

void ProgramExecutable::set_state(const TrainingState& state) {
  FlatParameters& parameters = program().flat_parameters();
  parameters.set_state(state);
  if (!ranks_) return;
  ranks_->restore(state, [&](const Weights& tensors) {
    std::vector<float> flat(parameters.trainable());
    parameters.flatten(tensors, flat);
    return flat;
  });
}

}  // namespace detol::inline trainer::program

#include "trainer/backends/program/rank_step.h"

#include <algorithm>

#include "trainer/backends/program/flat_parameters.h"

namespace detol::inline trainer::program {

RankStep::RankStep(const Recipe& recipe, Group& group, std::span<const GradientBucket> buckets)
    : buckets_(buckets.size()) {
  if (group.size() > 1) sums_.emplace(recipe, group, buckets);
}

void RankStep::start_next(std::span<float> gradients) {
  ++started_;
  sums_->start_next(gradients);
}

std::optional<StepSettings> RankStep::finish(std::span<float> gradients,
                                             const StepSettings& settings) {
  if (!sums_) return settings;
  while (started_ < buckets_) start_next(gradients);
  started_ = 0;
  if (!sums_->finish(gradients)) return std::nullopt;
  StepSettings of_gradients = settings;
  of_gradients.step -= sums_->staleness();
  return of_gradients;
}

void RankStep::share() {
  if (sums_) sums_->share();
}

void RankStep::save(TrainingState& state, const ToTensors& to_tensors) const {
  if (!sums_) return;
  const SumsState sums = sums_->state();
  for (const auto& flat : sums.residuals) state.residuals.push_back(to_tensors(flat));
  for (const auto& flat : sums.pending) state.pending.push_back(to_tensors(flat));
}

void RankStep::restore(const TrainingState& state, const ToFlat& to_flat) {
  if (!sums_) return;
  const auto flats = [&](const std::vector<Weights>& all) {
    std::vector<std::vector<float>> made;
    for (const Weights& one : all) made.push_back(to_flat(one));
    return made;
  };
  sums_->set_state({flats(state.residuals), flats(state.pending)});
}

void share_statistics(Group& group, FlatParameters& parameters) {
  if (group.size() == 1) return;
  std::vector<float> own = parameters.statistics();
  if (group.rank() != 0) std::ranges::fill(own, 0.0F);
  group.sum(std::span(own));
  parameters.set_statistics(own);
}

void save(const RankStep& ranks, const FlatParameters& parameters, TrainingState& state) {
  ranks.save(state, [&](std::span<const float> flat) { return parameters.plain_of(flat); });
}

void restore(RankStep& ranks, const FlatParameters& parameters, const TrainingState& state) {
  ranks.restore(state, [&](const Weights& tensors) {
    std::vector<float> flat(parameters.trainable());
    parameters.flatten(tensors, flat);
    return flat;
  });
}

}  // namespace detol::inline trainer::program

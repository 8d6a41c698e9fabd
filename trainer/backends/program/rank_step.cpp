#include "trainer/backends/program/rank_step.h"

namespace detol::inline trainer::program {

RankStep::RankStep(const Recipe& recipe, Group& group, std::span<const GradientBucket> buckets)
    : buckets_(buckets.size()), sums_(recipe, group, buckets) {}

void RankStep::start_next(std::span<float> gradients) {
  ++started_;
  sums_.start_next(gradients);
}

std::optional<StepSettings> RankStep::finish(std::span<float> gradients,
                                             const StepSettings& settings) {
  while (started_ < buckets_) start_next(gradients);
  started_ = 0;
  if (!sums_.finish(gradients)) return std::nullopt;
  StepSettings of_gradients = settings;
  of_gradients.step -= sums_.staleness();
  return of_gradients;
}

void RankStep::save(TrainingState& state, const ToTensors& to_tensors) const {
  const SumsState sums = sums_.state();
  for (const auto& flat : sums.residuals) state.residuals.push_back(to_tensors(flat));
  for (const auto& flat : sums.pending) state.pending.push_back(to_tensors(flat));
}

void RankStep::restore(const TrainingState& state, const ToFlat& to_flat) {
  const auto flats = [&](const std::vector<Weights>& all) {
    std::vector<std::vector<float>> made;
    for (const Weights& one : all) made.push_back(to_flat(one));
    return made;
  };
  sums_.set_state({flats(state.residuals), flats(state.pending)});
}

}  // namespace detol::inline trainer::program

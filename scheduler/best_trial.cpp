#include "scheduler/best_trial.h"

#include <algorithm>
#include <cmath>

#include "search/recommendation.h"

namespace detol::inline scheduler {

bool is_ranked_by_model(const StudyConfig& config) {
  return config.repeats > 0 && config.objectives.size() == 1;
}

const TrialRecord* best_trial(const StudyState& state, const StudyConfig& config) {
  if (!is_ranked_by_model(config)) return state.best();
  std::vector<MeasuredTrial> measured;
  for (const TrialRecord& one : state.trials()) {
    const bool has_value = !one.values.empty() && std::isfinite(one.values.front());
    if (one.state == TrialState::kComplete && has_value)
      measured.push_back(
          {one.trial.id, one.trial.genome, one.values.front(), !one.breaks_constraints});
  }
  const auto keeps = [](const MeasuredTrial& one) { return one.keeps_constraints; };
  if (measured.size() < kLeastTrialsToRecommend || std::ranges::none_of(measured, keeps))
    return state.best();
  const auto ranked = recommend(config.space, config.objectives.front().direction, measured);
  return ranked.empty() ? state.best() : state.find(ranked.front().id);
}

}  // namespace detol::inline scheduler

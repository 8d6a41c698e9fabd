#include "studies/recommended_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "scheduler/best_trial.h"
#include "search/recommendation.h"
#include "studies/model_rows.h"

namespace detol::inline studies {
namespace {

// Returns those of the trials that have a number for the objective; `keepers` are those that keep
// to the constraints.
Result<std::vector<MeasuredTrial>> measured(const StudyConfig& config, const Objective& objective,
                                            const std::vector<TrialSummary>& trials,
                                            const std::map<TrialId, TrialSummary>& keepers) {
  std::vector<MeasuredTrial> numbers;
  for (const TrialSummary& one : trials) {
    const double value = metric_of(one, objective.metric);
    if (!std::isfinite(value)) continue;
    DETOL_ASSIGN(Genome genome, genome_of(config, one));
    numbers.push_back({one.id, std::move(genome), value, keepers.contains(one.id)});
  }
  return numbers;
}

}  // namespace

Result<bool> is_best_by_posterior(const OpenStudy& study) {
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  if (study.record.objectives.size() > 1 || !is_ranked_by_model(config)) return false;
  DETOL_ASSIGN(const auto models, models_of(study));
  return std::ranges::find(models, ModelKind::kCrossValidated, &event::Model::kind) == models.end();
}

Result<std::optional<std::vector<RecommendedTrial>>> recommended_trials(const OpenStudy& study) {
  const auto& objectives = study.record.objectives;
  if (objectives.size() > 1) {
    return fail(ErrorCode::kUsage,
                fmt::format("--by posterior ranks by one objective, and study {0} has {1}: `detol "
                            "pareto {0}` lists the trials that no other beats",
                            study.record.name, objectives.size()));
  }
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  TrialFilter filter{.state = std::string(to_text(TrialState::kComplete)), .only_scored = true};
  DETOL_ASSIGN(const auto all, trials_of(study, filter));
  filter.only_feasible = true;
  DETOL_ASSIGN(auto feasible, trials_of(study, filter));
  std::map<TrialId, TrialSummary> keepers;
  for (TrialSummary& one : feasible) keepers.emplace(one.id, std::move(one));
  DETOL_ASSIGN(const auto trials, measured(config, objectives.front(), all, keepers));
  if (trials.size() < kLeastTrialsToRecommend) return std::nullopt;
  std::vector<RecommendedTrial> ranked;
  for (const Recommended& one : recommend(config.space, objectives.front().direction, trials)) {
    const auto keeper = keepers.find(one.id);
    if (keeper != keepers.end()) ranked.push_back({keeper->second, one.mean, one.deviation});
  }
  if (ranked.empty()) return no_best_trial(study);
  return ranked;
}

}  // namespace detol::inline studies

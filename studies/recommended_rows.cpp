#include "studies/recommended_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "search/recommendation.h"
#include "studies/model_rows.h"

namespace detol::inline studies {
namespace {

// Returns the trials of those rows that have a number for the objective; `feasible` has the rows
// that keep to the constraints.
Result<std::vector<MeasuredTrial>> measured(const StudyConfig& config, const Objective& objective,
                                            const Rows& rows, const Rows& feasible) {
  std::set<TrialId> keepers;
  for (std::size_t i = 0; i < feasible.rows.size(); ++i) keepers.insert(trial_of(feasible, i));
  std::vector<MeasuredTrial> trials;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    DETOL_ASSIGN(const double value, metric_of(rows, i, objective.metric));
    if (!std::isfinite(value)) continue;
    DETOL_ASSIGN(Genome genome, genome_of(config, rows, i));
    const TrialId id = trial_of(rows, i);
    trials.push_back({id, std::move(genome), value, keepers.contains(id)});
  }
  return trials;
}

// Returns the rows of the ranking, with its numbers; trials without a row are left out.
Rows with_ranking(const Rows& rows, std::span<const Recommended> ranking) {
  std::map<TrialId, std::size_t> places;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) places.emplace(trial_of(rows, i), i);
  const auto at = std::ranges::find(rows.columns, "values") - rows.columns.begin() + 1;
  Rows ranked{.columns = rows.columns, .rows = {}};
  const std::vector<std::string> added = {"posterior_mean", "posterior_deviation"};
  ranked.columns.insert(ranked.columns.begin() + at, added.begin(), added.end());
  for (const Recommended& one : ranking) {
    const auto place = places.find(one.id);
    if (place == places.end()) continue;
    std::vector<Cell> cells = rows.rows[place->second];
    cells.insert(cells.begin() + at, {Cell(one.mean), Cell(one.deviation)});
    ranked.rows.push_back(std::move(cells));
  }
  return ranked;
}

}  // namespace

Result<bool> is_best_by_posterior(const OpenStudy& study) {
  if (study.record.objectives.size() > 1) return false;
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  if (config.repeats == 0) return false;
  DETOL_ASSIGN(const auto models, models_of(study));
  return std::ranges::find(models, kCrossValidated, &event::Model::kind) == models.end();
}

Result<std::optional<Rows>> recommended_rows(const OpenStudy& study) {
  const auto& objectives = study.record.objectives;
  if (objectives.size() > 1) {
    return fail(ErrorCode::kUsage,
                fmt::format("--by posterior ranks by one objective, and study {0} has {1}: `detol "
                            "pareto {0}` lists the trials that no other beats",
                            study.record.name, objectives.size()));
  }
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  TrialFilter filter{.state = std::string(to_text(TrialState::kComplete)), .only_scored = true};
  DETOL_ASSIGN(const Rows all, trial_rows(study, filter));
  filter.only_feasible = true;
  DETOL_ASSIGN(const Rows feasible, trial_rows(study, filter));
  DETOL_ASSIGN(const auto trials, measured(config, objectives.front(), all, feasible));
  if (trials.size() < kLeastTrialsToRecommend) return std::nullopt;
  Rows ranked =
      with_ranking(feasible, recommend(config.space, objectives.front().direction, trials));
  if (ranked.rows.empty()) return no_best_trial(study);
  return ranked;
}

}  // namespace detol::inline studies

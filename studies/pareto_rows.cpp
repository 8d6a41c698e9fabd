#include "studies/pareto_rows.h"

#include <cmath>

#include "surrogate/pareto.h"

namespace detol::inline studies {
namespace {

// Returns a trial's objective values, negated where larger is better; empty if it lacks one.
Result<Losses> losses_of(const OpenStudy& study, const Rows& trials, std::size_t row) {
  Losses losses;
  for (const Objective& objective : study.record.objectives) {
    DETOL_ASSIGN(const double number, metric_of(trials, row, objective.metric));
    if (std::isnan(number)) return Losses{};
    losses.push_back(to_loss(objective.direction, number));
  }
  return losses;
}

}  // namespace

Result<Rows> pareto_rows(const OpenStudy& study) {
  const std::vector<Objective>& objectives = study.record.objectives;
  if (objectives.size() == 1) return one_trial(study, "best");
  DETOL_ASSIGN(Rows trials, trial_rows(study, {.only_scored = true, .only_feasible = true}));
  std::vector<Losses> points;
  std::vector<std::size_t> row_of;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    DETOL_ASSIGN(Losses losses, losses_of(study, trials, row));
    if (losses.empty()) continue;
    points.push_back(std::move(losses));
    row_of.push_back(row);
  }
  Rows front{.columns = trials.columns, .rows = {}};
  for (std::size_t place : nondominated(points))
    front.rows.push_back(std::move(trials.rows[row_of[place]]));
  if (!front.rows.empty()) return front;
  return no_best_trial(study);
}

Result<Rows> trials_called(const OpenStudy& study, const std::string& which) {
  return which == "pareto" ? pareto_rows(study) : one_trial(study, which);
}

}  // namespace detol::inline studies

#include "cli/pareto_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "surrogate/pareto.h"

namespace detol::inline cli {
namespace {

// Returns a trial's objective values, negated where larger is better; empty if it lacks one.
Result<Losses> losses_of(const OpenStudy& study, const Rows& trials, std::size_t row) {
  const auto* text = std::get_if<std::string>(&cell(trials, row, "values"));
  const auto values = nlohmann::json::parse(text != nullptr ? *text : "", nullptr, false);
  if (!values.is_object()) return fail(ErrorCode::kStorage, "a trial's values are damaged");
  Losses losses;
  for (const Objective& objective : study.record.objectives) {
    const auto value = values.find(objective.metric);
    if (value == values.end() || !value->is_number()) return Losses{};
    const double number = value->get<double>();
    losses.push_back(objective.direction == Direction::kMinimize ? number : -number);
  }
  return losses;
}

}  // namespace

Result<Rows> pareto_rows(const OpenStudy& study) {
  const std::vector<Objective>& objectives = study.record.objectives;
  if (objectives.size() == 1) return one_trial(study, "best");
  DETOL_ASSIGN(Rows trials, trial_rows(study, {.only_scored = true}));
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
  return nothing_reported(study);
}

}  // namespace detol::inline cli

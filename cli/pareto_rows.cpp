#include "cli/pareto_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace detol {
namespace {

// A trial's value of each objective; NaN where it has none.
Result<std::vector<double>> values_of(const OpenStudy& study, const Rows& trials, std::size_t row) {
  const auto* text = std::get_if<std::string>(&cell(trials, row, "values"));
  const auto values = nlohmann::json::parse(text != nullptr ? *text : "", nullptr, false);
  if (!values.is_object()) return fail(ErrorCode::kStorage, "a trial's values are damaged");
  std::vector<double> found;
  for (const Objective& objective : study.record.objectives) {
    const auto value = values.find(objective.metric);
    const bool is_number = value != values.end() && value->is_number();
    found.push_back(is_number ? value->get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return found;
}

bool covers(const std::vector<Objective>& objectives, const std::vector<double>& a,
            const std::vector<double>& b) {
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    if (is_better(objectives[i].direction, b[i], a[i])) return false;
  }
  return true;
}

// By a trial that is nowhere worse; of equal ones the first stays.
bool is_beaten(const std::vector<Objective>& objectives,
               const std::vector<std::vector<double>>& values, std::size_t row) {
  for (std::size_t other = 0; other < values.size(); ++other) {
    const bool is_equal = covers(objectives, values[row], values[other]);
    if (covers(objectives, values[other], values[row]) && (!is_equal || other < row)) return true;
  }
  return false;
}

bool has_nan(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

}  // namespace

Result<Rows> pareto_rows(const OpenStudy& study) {
  const std::vector<Objective>& objectives = study.record.objectives;
  if (objectives.size() == 1) return one_trial(study, "best");
  DETOL_ASSIGN(Rows trials, trial_rows(study, {.only_scored = true}));
  std::vector<std::vector<double>> values;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    DETOL_ASSIGN(std::vector<double> one, values_of(study, trials, row));
    values.push_back(std::move(one));
  }
  Rows front{.columns = trials.columns, .rows = {}};
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (!has_nan(values[row]) && !is_beaten(objectives, values, row))
      front.rows.push_back(std::move(trials.rows[row]));
  }
  if (!front.rows.empty()) return front;
  return fail(ErrorCode::kEmpty,
              fmt::format("study {} has no trial with a report yet", study.record.name));
}

}  // namespace detol

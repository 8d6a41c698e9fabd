#include "scheduler/asking/told_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scheduler/report_metrics.h"

namespace detol::inline scheduler {

double value_in(const std::vector<Metric>& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? std::nan("") : found->value;
}

Result<void> check_told(const StudyConfig& config, const std::vector<Metric>& metrics) {
  for (const std::string_view name : reported_metrics(config)) {
    if (std::ranges::find(metrics, name, &Metric::name) == metrics.end())
      return fail(ErrorCode::kUsage, fmt::format("the metric {} is missing", name));
  }
  return {};
}

void add_costs(const StudyConfig& config, const Genome& genome, std::vector<Metric>& metrics) {
  const auto costs = network_costs_of(config);
  const auto candidate = costs ? config.candidate(genome, {}) : Candidate();
  if (!costs || !candidate) return;
  for (const auto& [name, value] : costs(*candidate)) {
    std::erase_if(metrics, [&name = name](const Metric& one) { return one.name == name; });
    metrics.push_back({name, value});
  }
}

std::optional<std::string> what_diverged(const StudyConfig& config,
                                         const std::vector<Metric>& metrics) {
  for (const Objective& objective : config.objectives) {
    if (!std::isfinite(value_in(metrics, objective.metric)))
      return fmt::format("{} is no number", objective.metric);
  }
  return std::nullopt;
}

bool is_known(const StudyConfig& config, const TrialRecord& trial, const Told& told) {
  if (std::holds_alternative<Told::Failure>(told.outcome)) return trial.state == TrialState::kFail;
  if (std::holds_alternative<Told::Pruned>(told.outcome)) return trial.state == TrialState::kPruned;
  if (std::holds_alternative<Told::Released>(told.outcome)) return false;
  auto metrics = std::get<std::vector<Metric>>(told.outcome);
  add_costs(config, trial.trial.genome, metrics);
  if (what_diverged(config, metrics)) return trial.state == TrialState::kFail;
  if (trial.state != TrialState::kComplete) return false;
  for (std::size_t i = 0; i < config.objectives.size(); ++i) {
    if (value_in(metrics, config.objectives[i].metric) != trial.values[i]) return false;
  }
  return true;
}

bool is_best_told(const StudyConfig& config, const TrialRecord& trial,
                  const std::vector<Metric>& metrics) {
  if (config.keep != Keep::kBest || trial.epochs == 0) return true;
  double violation = 0;
  for (const MetricConstraint& one : config.metric_constraints)
    violation += violation_of(one, value_in(metrics, one.metric));
  if ((violation > 0) != trial.breaks_constraints) return trial.breaks_constraints;
  const auto costs = known_costs(config);
  for (std::size_t i = 0; i < config.objectives.size(); ++i) {
    const Objective& one = config.objectives[i];
    if (std::ranges::find(costs, one.metric) == costs.end())
      return is_better(one.direction, value_in(metrics, one.metric), trial.values[i]);
  }
  return true;
}

}  // namespace detol::inline scheduler

#include "scheduler/report_metrics.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace detol::inline scheduler {
namespace {

std::optional<double> value_in(const event::Reported& report, std::string_view name) {
  const auto found = std::ranges::find(report.metrics, name, &NamedMetrics::value_type::first);
  return found == report.metrics.end() ? std::nullopt : std::optional(found->second);
}

void set(event::Reported& report, std::string_view name, double value) {
  const auto found = std::ranges::find(report.metrics, name, &NamedMetrics::value_type::first);
  if (found == report.metrics.end())
    report.metrics.emplace_back(name, value);
  else
    found->second = value;
}

}  // namespace

std::function<NamedMetrics(const Candidate&)> network_costs_of(const StudyConfig& config) {
  if (!config.has_networks()) return nullptr;
  const bool has_params = weighs(config, "params"), has_flops = weighs(config, "flops");
  if (!has_params && !has_flops) return nullptr;
  return [=](const Candidate& candidate) {
    NamedMetrics costs;
    if (has_params) costs.emplace_back("params", static_cast<double>(candidate.cost.params));
    if (has_flops) costs.emplace_back("flops", static_cast<double>(candidate.cost.flops));
    return costs;
  };
}

ReportMetrics::ReportMetrics(const StudyConfig& config)
    : config_(config),
      weighs_costs_(std::ranges::any_of(
          kCostMetrics, [&](std::string_view metric) { return weighs(config, metric); })) {}

void ReportMetrics::complete(event::Reported& report, double train_s,
                             const std::function<NamedMetrics()>& costs) {
  if (weighs_costs_) {
    const auto [known, is_new] = costs_.try_emplace(report.trial);
    if (is_new) known->second = costs();
    for (const auto& [name, value] : known->second) set(report, name, value);
  }
  if (!config_.trains()) return add_violation(report);
  if (weighs(config_, "train_time")) set(report, "train_time", train_s);
  const auto latency = latency_s_.find(report.trial);
  if (latency != latency_s_.end()) set(report, "latency", latency->second);
  if (config_.epochs_target) {
    learn_target(report);
    const auto reached = epochs_to_target_.find(report.trial);
    // One more than a full training stands for a target that is not reached yet: worse than any
    // that is.
    set(report, "epochs_to_target",
        reached == epochs_to_target_.end() ? config_.max_epochs + 1 : reached->second);
  }
  add_violation(report);
}

void ReportMetrics::add_violation(event::Reported& report) const {
  if (config_.metric_constraints.empty()) return;
  double sum = 0;
  for (const MetricConstraint& one : config_.metric_constraints) {
    const auto value = value_in(report, one.metric);
    sum += violation_of(one, value.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  set(report, kViolationMetric, sum);
}

void ReportMetrics::learn_target(const event::Reported& report) {
  const auto value = value_in(report, config_.epochs_target->metric);
  if (value && config_.epochs_target->is_reached_by(*value))
    epochs_to_target_.try_emplace(report.trial, report.epochs());
}

void ReportMetrics::learn(const event::Reported& report) {
  if (config_.epochs_target) learn_target(report);
  if (config_.latency_batch == 0) return;
  if (const auto value = value_in(report, "latency")) latency_s_.try_emplace(report.trial, *value);
}

}  // namespace detol::inline scheduler

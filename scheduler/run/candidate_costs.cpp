#include "scheduler/run/candidate_costs.h"

#include <cmath>

#include "scheduler/report_metrics.h"
#include "trainer/training_memory.h"

namespace detol::inline scheduler {
namespace {

// Returns nullopt if the memory cannot be planned.
std::optional<double> planned_bytes(const Candidate& candidate) {
  const auto planned = with_training_memory(candidate, {});
  return planned ? std::optional(device_bytes(*planned)) : std::nullopt;
}

}  // namespace

Refuse refuse_beyond_constraints(const StudyConfig& config) {
  const Constraints constraints = config.constraints;
  if (!config.trains() || !std::isfinite(constraints.max_memory)) return nullptr;
  return [=](const Candidate& candidate) -> std::optional<StudyConfig::Refused> {
    const auto planned = with_training_memory(candidate, constraints);
    return planned ? std::nullopt : std::optional(planned.error());
  };
}

ForeseenBytes foreseen_bytes_of(const StudyConfig& config) {
  if (!config.trains()) return nullptr;
  return [](const Candidate& candidate) { return planned_bytes(candidate).value_or(0); };
}

CostMetrics cost_metrics_of(const StudyConfig& config) {
  CostMetrics of_network = network_costs_of(config);
  if (!config.trains() || !weighs(config, "memory")) return of_network;
  return [of_network](const Candidate& candidate) {
    NamedMetrics costs = of_network ? of_network(candidate) : NamedMetrics();
    if (const auto bytes = planned_bytes(candidate)) costs.emplace_back("memory", *bytes);
    return costs;
  };
}

}  // namespace detol::inline scheduler

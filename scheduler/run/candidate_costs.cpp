#include "scheduler/run/candidate_costs.h"

#include <cmath>

#include "scheduler/report_metrics.h"
#include "scheduler/run/refusal.h"
#include "trainer/data/batch_sharing.h"
#include "trainer/training_memory.h"

namespace detol::inline scheduler {
namespace {

// Returns nullopt if the memory cannot be planned.
std::optional<double> planned_bytes(const Candidate& candidate, int ranks) {
  const auto planned = with_training_memory(candidate, {}, ranks);
  return planned ? std::optional(device_bytes(*planned)) : std::nullopt;
}

}  // namespace

std::optional<StudyConfig::Refused> refusal_of(const Candidate& candidate,
                                               const Constraints& constraints,
                                               const DatasetInfo& data, int ranks) {
  std::string why_not = why_not_shared(data, candidate.recipe.batch_size, ranks);
  if (!why_not.empty()) return StudyConfig::Refused{Cause::kInvalid, std::move(why_not)};
  if (!std::isfinite(constraints.max_memory)) return std::nullopt;
  const auto planned = with_training_memory(candidate, constraints, ranks);
  return planned ? std::nullopt : std::optional(planned.error());
}

Refuse refuse_untrainable(const StudyConfig& config, const DatasetInfo& data, int ranks) {
  if (!config.trains()) return nullptr;
  return [constraints = config.constraints, data, ranks](const Candidate& candidate) {
    return refusal_of(candidate, constraints, data, ranks);
  };
}

ForeseenBytes foreseen_bytes_of(const StudyConfig& config, int ranks) {
  if (!config.trains()) return nullptr;
  return
      [ranks](const Candidate& candidate) { return planned_bytes(candidate, ranks).value_or(0); };
}

CostMetrics cost_metrics_of(const StudyConfig& config, int ranks) {
  CostMetrics of_network = network_costs_of(config);
  if (!config.trains() || !weighs(config, "memory")) return of_network;
  return [of_network, ranks](const Candidate& candidate) {
    NamedMetrics costs = of_network ? of_network(candidate) : NamedMetrics();
    if (const auto bytes = planned_bytes(candidate, ranks)) costs.emplace_back("memory", *bytes);
    return costs;
  };
}

}  // namespace detol::inline scheduler

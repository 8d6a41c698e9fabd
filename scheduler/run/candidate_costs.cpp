#include "scheduler/run/candidate_costs.h"

#include <cmath>

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

CandidateCosts::CandidateCosts(const StudyConfig& config, const DatasetInfo& data, int ranks)
    : config_(config),
      data_(data),
      ranks_(ranks),
      of_network_(network_costs_of(config)),
      weighs_memory_(config.trains() && weighs(config, "memory")) {}

std::optional<StudyConfig::Refused> CandidateCosts::refusal_of(const Candidate& candidate) const {
  if (!config_.trains()) return std::nullopt;
  return detol::refusal_of(candidate, config_.constraints, data_, ranks_);
}

double CandidateCosts::foreseen_bytes(const Candidate& candidate) const {
  return config_.trains() ? planned_bytes(candidate, ranks_).value_or(0) : 0;
}

NamedMetrics CandidateCosts::metrics(const Candidate& candidate) const {
  NamedMetrics costs = of_network_ ? of_network_(candidate) : NamedMetrics();
  const auto bytes = weighs_memory_ ? planned_bytes(candidate, ranks_) : std::nullopt;
  if (bytes) costs.emplace_back("memory", *bytes);
  return costs;
}

}  // namespace detol::inline scheduler

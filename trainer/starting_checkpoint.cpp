#include "trainer/starting_checkpoint.h"

#include <optional>
#include <utility>

#include "core/log.h"
#include "trainer/inheritance/inherited_weights.h"
#include "trainer/predict.h"

namespace detol::inline trainer {
namespace {

// Returns whether there is a report of every epoch, and, in the first, of no more than there are.
bool has_whole_history(const Checkpoint& found, std::size_t early_reports) {
  const auto epochs = static_cast<std::size_t>(found.epoch);
  if (found.history.size() < epochs) return false;
  const std::size_t early = found.history.size() - epochs;
  return epochs == 0 ? early <= early_reports : early == early_reports;
}

bool has_best_weights(const Checkpoint& found, const Network& network) {
  return found.history.empty() || is_at_best(found) || fits(found.best, network);
}

bool continues(const Job& job, const ResumeConditions& conditions, const Checkpoint& found) {
  const std::int64_t steps = conditions.steps_per_epoch;
  return found.trial == job.trial && found.job_hash == conditions.job_hash &&
         has_whole_history(found, conditions.early_reports) && found.progress.steps <= steps &&
         found.step == found.epoch * steps + found.progress.steps &&
         fits(scored_weights(found.state), job.candidate.network) &&
         fits(found.state.weights, job.candidate.network) &&
         (!conditions.ranks_epochs || has_best_weights(found, job.candidate.network));
}

struct StartingWeights {
  Weights weights;
  std::optional<double> inherited = {};
};

// Returns the weights of the job's parent. Errors (kStorage): there are none that fit it.
Result<Weights> parent_weights(const Job& job) {
  const Parent& parent = *job.parent;
  DETOL_ASSIGN(const Checkpoint found, read_checkpoint(job.folder / kParentFolder, parent.epochs));
  const Weights& weights = best_weights(found);
  if (found.trial == parent.trial && fits(weights, parent.network)) return weights;
  return fail(ErrorCode::kStorage, "it is of another network");
}

// Returns initial weights, and the share of them that comes from the job's parent.
StartingWeights starting_weights(const Job& job) {
  const Network& network = job.candidate.network;
  if (!job.parent) return {initial_weights(network, job.seed)};
  const auto weights = parent_weights(job);
  if (!weights) {
    log_warning("{}; trial {} begins with weights of its own, not those of trial {}",
                weights.error().message, job.trial, job.parent->trial);
    return {initial_weights(network, job.seed), 0};
  }
  const InheritancePlan plan = plan_inheritance(job.parent->network, network);
  return {inherited_weights(plan, job.parent->network, *weights, network, job.seed),
          inherited_share(plan, network)};
}

// Returns the share of a training that is resumed: what it reported, or would have.
std::optional<double> inherited_by(const Job& job, const Checkpoint& found) {
  if (!job.parent) return std::nullopt;
  if (found.history.empty()) return starting_weights(job).inherited;
  for (const Metric& metric : found.history.back().metrics) {
    if (metric.name == kInheritedMetric) return metric.value;
  }
  return std::nullopt;
}

}  // namespace

Result<StartingCheckpoint> starting_checkpoint(const Job& job, const ResumeConditions& conditions) {
  DETOL_ASSIGN(std::optional<Checkpoint> found, newest_checkpoint(job.folder, job.attempt));
  if (found && continues(job, conditions, *found)) {
    found->attempt = job.attempt;
    const auto inherited = inherited_by(job, *found);
    return StartingCheckpoint{*std::move(found), inherited};
  }
  if (found) {
    log_warning("{}: the checkpoint of epoch {} is of other settings; trial {} starts afresh",
                job.folder.string(), found->epoch, job.trial);
    DETOL_TRY(set_aside_checkpoints(job.folder, job.attempt));
  }
  StartingWeights start = starting_weights(job);
  return StartingCheckpoint{{.trial = job.trial,
                             .attempt = job.attempt,
                             .arch_hash = job.candidate.arch_hash,
                             .job_hash = conditions.job_hash,
                             .progress = {},
                             .history = {},
                             .state = {std::move(start.weights), {}}},
                            start.inherited};
}

}  // namespace detol::inline trainer

#include "trainer/starting_checkpoint.h"

#include <optional>
#include <utility>

#include "core/log.h"
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

}  // namespace

Result<Checkpoint> starting_checkpoint(const Job& job, const ResumeConditions& conditions) {
  DETOL_ASSIGN(std::optional<Checkpoint> found, newest_checkpoint(job.folder, job.attempt));
  if (found && continues(job, conditions, *found)) {
    found->attempt = job.attempt;
    return *std::move(found);
  }
  if (found) {
    log_warning("{}: the checkpoint of epoch {} is of other settings; trial {} starts afresh",
                job.folder.string(), found->epoch, job.trial);
    DETOL_TRY(set_aside_checkpoints(job.folder, job.attempt));
  }
  return Checkpoint{.trial = job.trial,
                    .attempt = job.attempt,
                    .arch_hash = job.candidate.arch_hash,
                    .job_hash = conditions.job_hash,
                    .progress = {},
                    .history = {},
                    .state = {initial_weights(job.candidate.network, job.seed), {}}};
}

}  // namespace detol::inline trainer

#include "trainer/checkpointed_reports.h"

#include <algorithm>
#include <utility>

#include "core/fault.h"
#include "trainer/write_with_retry.h"

namespace detol::inline trainer {
namespace {

// Returns how the evaluation ends after this verdict, if it does.
std::optional<Evaluation> end_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kContinue:
      return std::nullopt;
    case Verdict::kStop:
      return Evaluation{.end = Evaluation::End::kFinished, .reason = {}};
    case Verdict::kSuspend:
      break;
  }
  return suspended();
}

}  // namespace

CheckpointedReports::CheckpointedReports(const TrainingContext& context, const Reporter& report,
                                         Checkpoint& checkpoint)
    : job_(context.job),
      executable_(context.executable),
      control_(context.control),
      ranking_(context.ranking),
      report_(report),
      checkpoint_(checkpoint) {}

void CheckpointedReports::rank_newest() {
  if (ranking_) checkpoint_.history.back().is_best = is_best(*ranking_, checkpoint_.history);
}

std::optional<Evaluation> CheckpointedReports::tell(const EpochReport& epoch) const {
  if (epoch.epochs() <= job_.acknowledged) return std::nullopt;
  return end_of(report_(epoch));
}

EarlyOutcome CheckpointedReports::tell_history() {
  for (const EpochReport& known : checkpoint_.history) {
    if (auto end = tell(known)) return end;
  }
  return std::nullopt;
}

// The state of the last file moves on; where it had the best weights, they are kept apart.
Result<void> CheckpointedReports::write() {
  const bool was_best =
      checkpoint_.best.empty() && std::ranges::any_of(checkpoint_.history, &EpochReport::is_best);
  if (!ranking_ || is_at_best(checkpoint_))
    checkpoint_.best.clear();
  else if (was_best)
    checkpoint_.best = take_scored_weights(checkpoint_.state);
  checkpoint_.state = executable_.state();
  return write_with_retry(job_.folder, checkpoint_, [this] {
    control_.progress.fetch_add(1, std::memory_order_relaxed);
    return !control_.suspend;
  });
}

EarlyOutcome CheckpointedReports::keep_report() {
  fault("train.epoch");
  DETOL_TRY(write());
  fault("train.report");
  return tell(checkpoint_.history.back());
}

// At an epoch's start there is a file already.
EarlyOutcome CheckpointedReports::keep_position() {
  if (checkpoint_.progress.steps > 0) DETOL_TRY(write());
  return suspended();
}

}  // namespace detol::inline trainer

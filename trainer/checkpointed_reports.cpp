#include "trainer/checkpointed_reports.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"
#include "core/fault.h"
#include "trainer/write_with_retry.h"

namespace detol::inline trainer {
namespace {

constexpr double kGroupS = 2;  // of training that a kill may cost, where epochs are shorter

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
      checkpoint_(checkpoint),
      is_alone_(context.group.size() == 1),
      written_s_(system_clock().now_s()),
      last_report_s_(written_s_) {}

void CheckpointedReports::rank_newest() {
  if (ranking_) checkpoint_.history.back().is_best = is_best(*ranking_, checkpoint_.history);
}

// Sends the reports that wait, group by group: a group ends where somebody may decide.
std::optional<Evaluation> CheckpointedReports::tell_waiting() {
  const std::vector<EpochReport>& history = checkpoint_.history;
  while (told_ < history.size()) {
    const EpochReport& report = history[told_++];
    if (report.epochs() <= job_.acknowledged) continue;
    const bool more = told_ < history.size() && report.epochs() < control_.undecided;
    auto end = end_of(report_(report, more));
    if (end && !more) return end;
  }
  return std::nullopt;
}

EarlyOutcome CheckpointedReports::tell_history() {
  return tell_waiting();
}

void CheckpointedReports::tell_before_failure() {
  tell_waiting();
}

// The weights of an epoch whose file is not written are kept at once if they are the best. Where
// the last epoch counts, a decision may make any the last, unless there will be none.
bool CheckpointedReports::may_wait() {
  const double now_s = system_clock().now_s();
  const double epoch_s = now_s - std::exchange(last_report_s_, now_s);
  const EpochReport& newest = checkpoint_.history.back();
  const bool is_whole = std::ranges::all_of(
      newest.metrics, [](const Metric& metric) { return std::isfinite(metric.value); });
  const bool is_short = now_s + epoch_s - written_s_ <= kGroupS;
  const bool may_be_skipped = ranking_ || control_.undecided > job_.candidate.recipe.epochs;
  return is_alone_ && may_be_skipped && is_whole && is_short && !control_.suspend &&
         newest.epochs() < control_.undecided && checkpoint_.epoch < job_.candidate.recipe.epochs;
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
  auto written = write_with_retry(job_.folder, checkpoint_, [this] {
    control_.progress.fetch_add(1, std::memory_order_relaxed);
    return !control_.suspend;
  });
  written_s_ = system_clock().now_s();
  return written;
}

EarlyOutcome CheckpointedReports::keep_report() {
  fault("train.epoch");
  if (may_wait()) {
    if (!ranking_ || !checkpoint_.history.back().is_best) return std::nullopt;
    TrainingState state = executable_.state();
    checkpoint_.best = take_scored_weights(state);
    return std::nullopt;
  }
  DETOL_TRY(write());
  fault("train.report");
  return tell_waiting();
}

// At an epoch's start there is a file already, unless its report waits.
EarlyOutcome CheckpointedReports::keep_position() {
  const bool waits = told_ < checkpoint_.history.size();
  if (checkpoint_.progress.steps > 0 || waits) DETOL_TRY(write());
  const auto end = tell_waiting();
  return end.value_or(suspended());
}

}  // namespace detol::inline trainer

// This file decides when a run of a study is over, and how it ended: the budget is used up, the
// target reached, nothing left to try, or too many trials have failed.

#include <fmt/format.h>

#include <map>

#include "scheduler/driver.h"

namespace detol::inline scheduler {
namespace {

constexpr int kFirstFailures = 10;     // that end a study in which no trial succeeded
constexpr int kUntrainedInRow = 1000;  // trials refused or already known, which end a study

}  // namespace

// Returns whether trials have failed, and not one has a value or was cut short before it had one.
bool Driver::have_all_failed() const {
  return state_.succeeded() == 0 && state_.best() == nullptr &&
         !state_.in_state(TrialState::kFail).empty();
}

// Says that all trials failed, why the last of them did, and what can be done.
std::string Driver::failures() const {
  const std::vector<TrialId> failed = state_.in_state(TrialState::kFail);
  const TrialRecord& last = *state_.find(failed.back());
  const std::string which =
      failed.size() == 1
          ? fmt::format("the only trial, {}, failed", failed.back())
          : fmt::format("{} trials all failed, trial {}", failed.size(), failed.back());
  std::string text = fmt::format("{} as {}; `detol trials {} --state FAIL` shows why", which,
                                 to_text(last.reason), parts_.config.study);
  if (may_differ_when_retried(last))
    text += fmt::format("; `detol resume {} --retry-failed` tries again", parts_.config.study);
  return text;
}

// Says which other studies answered trials; empty if none did.
std::string Driver::answers_of_others() const {
  std::map<std::string, int> trials;
  for (const TrialRecord& trial : state_.trials()) {
    const EndReason& reason = trial.reason;
    if (reason.cause == EndCause::kSameTrial && !reason.detail.empty()) ++trials[reason.detail];
  }
  std::string text;
  for (const auto& [study, count] : trials)
    text += fmt::format("{} {} ({} trial{})", text.empty() ? "; answered from study" : ",", study,
                        count, count == 1 ? "" : "s");
  return text;
}

// Decides, once, that no more trials are placed.
void Driver::look_for_an_end() {
  if (closing_) return;
  if (have_all_failed() && state_.failed_after_start() >= kFirstFailures) {
    closing_ = {ErrorCode::kFailures, "the first " + failures(), EndCause::kFailures};
  } else if (state_.untrained_in_row() >= kUntrainedInRow) {
    closing_ = {std::nullopt,
                fmt::format("{} proposals in a row were refused or already known: nothing else "
                            "seems to be left in the space{}",
                            kUntrainedInRow, answers_of_others()),
                std::nullopt};
    if (state_.spent().trials == 0 && state_.best() == nullptr) {
      closing_->error = ErrorCode::kFailures;
      const std::vector<TrialId> refused = state_.in_state(TrialState::kFail);
      if (!refused.empty())
        closing_->sentence += fmt::format("; trial {}: {}", refused.back(),
                                          to_text(state_.find(refused.back())->reason));
    }
  } else if (target_reached_) {
    closing_ = {std::nullopt, "the target " + to_text(*parts_.target) + " is reached",
                EndCause::kTarget};
  } else if (equals_.is_space_known() && state_.running() == 0 && is_nothing_waiting()) {
    closing_ = {std::nullopt,
                fmt::format("nothing is left to try: all candidates of the space ({}) are known{}",
                            equals_.candidates(), answers_of_others()),
                std::nullopt};
    if (state_.spent().trials == 0 && state_.best() == nullptr) {
      closing_->error = ErrorCode::kFailures;
      if (have_all_failed()) closing_->sentence += "; " + failures();
    }
  } else if (budget_.is_used_up()) {
    close_for_budget();
  }
}

void Driver::close_for_budget() {
  if (closing_) return;
  closing_ = {std::nullopt,
              budget_.is_used_up() ? "the budget is used up"
                                   : "the budget is used up but for less than an epoch",
              EndCause::kBudget};
}

// Ends the search where every worker is idle and has too little memory for the trials that wait.
void Driver::close_for_memory(const std::vector<Slot>& idle) {
  if (closing_ || proposals_.is_at_work()) return;
  if (auto why = memory_.why_all_wait(idle))
    closing_ = {std::nullopt, *std::move(why), std::nullopt};
}

bool Driver::is_over() const {
  if (is_stopping() && parts_.clock.now_s() >= *stop_deadline_s_) return true;
  if (running_.is_anything_running_here() || outbox_.is_paused() || running_.is_anybody_leaving())
    return false;
  const bool all_placed = budget_.trials_left() <= 0 && is_nothing_waiting();
  return is_stopping() || closing_ || exhausted_ || all_placed;
}

bool Driver::is_nothing_waiting() const {
  return state_.in_state(TrialState::kWaiting).empty() && !parts_.pruner.promotion();
}

// Requeues trials that still run: they were stopped in mid-epoch and resume from a checkpoint.
Result<std::string> Driver::finish() {
  used_.read_devices();
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    if (!parts_.pool.outlives(id)) DETOL_TRY(requeue(id, {RequeueCause::kStopped}));
  }
  const bool cuts = !is_stopping() && closing_ && closing_->cuts;
  for (TrialId id : state_.in_state(TrialState::kWaiting)) {
    const TrialRecord& trial = *state_.find(id);
    if (cuts && trial.attempt > 0) DETOL_TRY(tell(id, {*closing_->cuts}, trial.unreported_s));
  }
  const bool failed = closing_ && closing_->error;
  DETOL_TRY(record(
      event::StudyState{.state = is_stopping() || failed ? StudyPhase::kStopped : StudyPhase::kDone,
                        .budget = to_text(budget_.total()),
                        .at_s = parts_.clock.wall_s()}));
  DETOL_TRY(commit());
  if (is_stopping()) return fail(ErrorCode::kInterrupted, stopped());
  if (outbox_.is_paused())
    return fail(ErrorCode::kStorage,
                "the disk is full; what was not acknowledged is trained again");
  if (failed) return fail(*closing_->error, closing_->sentence);
  if (have_all_failed())
    return fail(ErrorCode::kFailures, fmt::format("{}; {}", why_none(), failures()));
  return why_none();
}

}  // namespace detol::inline scheduler

#include "scheduler/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace detol::inline scheduler {
namespace {

constexpr int kFirstFailures = 10;     // that end a study in which no trial succeeded
constexpr int kUntrainedInRow = 1000;  // trials refused or already known, which end a study
constexpr double kStopPatienceS = 8;   // for workers to checkpoint after a stop request

// Returns whether trials have failed, and not one has a value or was cut short before it had one.
bool have_all_failed(const StudyState& state) {
  return state.succeeded() == 0 && state.best() == nullptr &&
         !state.in_state(TrialState::kFail).empty();
}

// Says which other studies answered trials; empty if none did.
std::string answers_of_others(const StudyState& state) {
  std::map<std::string, int> trials;
  for (const TrialRecord& trial : state.trials()) {
    const EndReason& reason = trial.reason;
    if (reason.cause == EndCause::kSameTrial && !reason.detail.empty()) ++trials[reason.detail];
  }
  std::string text;
  for (const auto& [study, count] : trials)
    text += fmt::format("{} {} ({} trial{})", text.empty() ? "; answered from study" : ",", study,
                        count, count == 1 ? "" : "s");
  return text;
}

// Returns the end of the last sentence: what more budget would continue.
std::string what_waits_for_budget(const StudyState& state, const std::string& study) {
  const std::vector<TrialId> pruned = state.in_state(TrialState::kPruned);
  const auto cut = std::ranges::count_if(
      pruned, [&](TrialId id) { return state.find(id)->reason.cause == EndCause::kBudget; });
  if (cut == 0) return "";
  return fmt::format("; more of it (`detol resume {} --budget +...`) continues {} trial{}", study,
                     cut, cut == 1 ? "" : "s");
}

}  // namespace

bool may_differ_when_retried(const TrialRecord& trial) {
  return trial.failure == Cause::kCrashed || trial.failure == Cause::kTimeout ||
         trial.failure == Cause::kOutOfMemory;
}

void Ending::stop() {
  stop_deadline_s_ = parts_.clock.now_s() + kStopPatienceS;
}

void Ending::look() {
  if (closing_) return;
  if (have_all_failed(state_) && state_.failed_after_start() >= kFirstFailures) {
    closing_ = {ErrorCode::kFailures, "the first " + failures(), EndCause::kFailures};
  } else if (state_.untrained_in_row() >= kUntrainedInRow) {
    close_as_known();
  } else if (target_reached_) {
    closing_ = {std::nullopt, "the target " + to_text(*parts_.target) + " is reached",
                EndCause::kTarget};
  } else if (equals_.is_space_known() && state_.running() == 0 && is_nothing_waiting()) {
    close_as_empty();
  } else if (budget_.is_used_up()) {
    close_for_budget();
  }
}

void Ending::close_as_known() {
  close(
      fmt::format("{} proposals in a row were refused or already known: nothing else seems to be "
                  "left in the space{}",
                  kUntrainedInRow, answers_of_others(state_)));
  if (state_.spent().trials > 0 || state_.best() != nullptr) return;
  closing_->error = ErrorCode::kFailures;
  const std::vector<TrialId> refused = state_.in_state(TrialState::kFail);
  if (!refused.empty())
    closing_->sentence +=
        fmt::format("; trial {}: {}", refused.back(), to_text(state_.find(refused.back())->reason));
}

void Ending::close_as_empty() {
  close(fmt::format("nothing is left to try: all candidates of the space ({}) are known{}",
                    equals_.candidates(), answers_of_others(state_)));
  if (state_.spent().trials > 0 || state_.best() != nullptr) return;
  closing_->error = ErrorCode::kFailures;
  if (have_all_failed(state_)) closing_->sentence += "; " + failures();
}

void Ending::close_for_budget() {
  if (closing_) return;
  closing_ = {std::nullopt,
              budget_.is_used_up() ? "the budget is used up"
                                   : "the budget is used up but for less than an epoch",
              EndCause::kBudget};
}

void Ending::close(std::string why) {
  if (!closing_) closing_ = {std::nullopt, std::move(why), std::nullopt};
}

std::optional<EndCause> Ending::cuts() const {
  return closing_ ? closing_->cuts : std::nullopt;
}

void Ending::learn(const event::Reported& reported) {
  for (const auto& [name, measured] : reported.metrics) {
    if (parts_.target && parts_.target->metric == name)
      target_reached_ = target_reached_ || parts_.target->is_reached_by(measured);
  }
}

bool Ending::is_near() const {
  const bool all_placed = budget_.trials_left() <= 0 && is_nothing_waiting();
  return is_stopping() || closing_ || exhausted_ || all_placed;
}

bool Ending::is_over() const {
  if (is_stopping() && parts_.clock.now_s() >= *stop_deadline_s_) return true;
  if (running_.is_anything_running_here() || outbox_.is_paused() || running_.is_anybody_leaving())
    return false;
  return is_near();
}

bool Ending::is_nothing_waiting() const {
  return state_.in_state(TrialState::kWaiting).empty() && !parts_.pruner.promotion();
}

double Ending::undecided(TrialId trial) const {
  if (parts_.target || budget_.counts_work()) return 0;
  return parts_.pruner.undecided(trial, state_.find(trial)->epochs);
}

// Says that all trials failed, why the last of them did, and what can be done.
std::string Ending::failures() const {
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

std::string Ending::stopped() const {
  const std::string resume =
      parts_.config.external ? fmt::format("ask again with `detol ask {}`", parts_.config.study)
                             : fmt::format("resume with `detol resume {}`", parts_.config.study);
  if (!outbox_.is_paused()) return "stopped; " + resume;
  return "stopped, but the last events cannot be written: the study still says that it is running, "
         "and what was not acknowledged is trained again; free some space, or end what holds the "
         "ledger up, then " +
         resume;
}

std::string Ending::why_none() const {
  if (is_stopping()) return stopped();
  if (closing_) return closing_->sentence + what_waits_for_budget(state_, parts_.config.study);
  return exhausted_ ? "the search has nothing more to propose" : "the budget is used up";
}

Result<std::string> Ending::result() const {
  if (is_stopping()) return fail(ErrorCode::kInterrupted, stopped());
  if (outbox_.is_paused())
    return fail(ErrorCode::kStorage,
                "the disk is full; what was not acknowledged is trained again");
  if (has_failed()) return fail(*closing_->error, closing_->sentence);
  if (have_all_failed(state_))
    return fail(ErrorCode::kFailures, fmt::format("{}; {}", why_none(), failures()));
  return why_none();
}

}  // namespace detol::inline scheduler

// This file does what people ask of a running study (knowledge/requests.h). A request is answered
// when what follows from it is durable, or when it cannot be granted any more; until then it stays
// where it was found, so that the next master finds it. All are such that a repeat changes nothing.
//
// A trial is pruned after its next report (judge()), which its program has time to end after, and
// which gives it a value if it had none. One that has a value and is long silent is ended at once.

#include "core/log.h"
#include "scheduler/driver.h"

namespace detol::inline scheduler {
namespace {

constexpr double kRequestsEveryS = 1;   // between two looks
constexpr double kPrunePatienceS = 10;  // for the next report of a trial

}  // namespace

bool may_differ_when_retried(const TrialRecord& trial) {
  return trial.failure == Cause::kCrashed || trial.failure == Cause::kTimeout ||
         trial.failure == Cause::kOutOfMemory;
}

Result<void> Driver::look_for_requests() {
  if (parts_.clock.now_s() - looked_s_ < kRequestsEveryS) return {};
  looked_s_ = parts_.clock.now_s();
  if (is_stopping()) {
    parts_.pool.suspend();
    return {};
  }
  for (const RunRequest& request : parts_.requests()) {
    const bool can_wait = request.kind != RunRequest::kStop;
    if (!outbox_.is_paused() || !can_wait) DETOL_TRY(handle(request));
  }
  return {};
}

Result<void> Driver::handle(const RunRequest& request) {
  switch (request.kind) {
    case RunRequest::kStop:
      return handle(StopRequest{});  // it stands until the run has ended
    case RunRequest::kPrune:
      return prune(request);
    case RunRequest::kRetry:
      return retry(request);
    case RunRequest::kBudget:
      return raise_budget(request);
  }
  return {};
}

Result<void> Driver::prune(const RunRequest& request) {
  const TrialId id = request.trial;
  const TrialRecord* trial = state_.find(id);
  if (trial != nullptr && !trial->is_over()) {
    const double now_s = parts_.clock.now_s();
    const double asked_s = prunes_.try_emplace(id, now_s).first->second;
    const bool is_running = trial->state == TrialState::kRunning;
    if (trial->epochs == 0 || (is_running && now_s - asked_s < kPrunePatienceS)) return {};
    if (is_running) parts_.pool.drop(id);
    DETOL_TRY(tell(id, {EndCause::kRequest}));
  } else if (trial == nullptr || trial->reason.cause != EndCause::kRequest) {
    log_warning("trial {} is not pruned: it is not trained any more", id);
  }
  prunes_.erase(id);
  outbox_.answer(request);
  return {};
}

Result<void> Driver::retry(const RunRequest& request) {
  const TrialRecord* trial = state_.find(request.trial);
  if (trial == nullptr || !may_differ_when_retried(*trial)) {
    log_warning("trial {} is not retried: it has not failed, or would again", request.trial);
  } else if (closing_) {
    log_warning("trial {} is not retried: the search is at its end", request.trial);
  } else {
    DETOL_TRY(requeue(request.trial, {RequeueCause::kRetried}));
  }
  outbox_.answer(request);
  return {};
}

Result<void> Driver::raise_budget(const RunRequest& request) {
  const auto total = parse_budget(request.budget);
  if (!total) {
    log_warning("the budget stays as it is: {}", total.error().message);
  } else if (closing_) {
    log_warning("the budget stays as it is: the search is at its end");
  } else {
    budget_.replace(*total);
    hire_again();
    DETOL_TRY(record(event::StudyState{
        .state = StudyPhase::kRunning, .budget = to_text(*total), .at_s = parts_.clock.wall_s()}));
    DETOL_TRY(continue_what_the_budget_ended());
    log_info("the budget is {} now", to_text(*total));
  }
  outbox_.answer(request);
  return {};
}

}  // namespace detol::inline scheduler

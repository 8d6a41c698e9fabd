#include "scheduler/run_requests.h"

#include "core/log.h"

namespace detol::inline scheduler {
namespace {

constexpr double kRequestsEveryS = 1;   // between two looks
constexpr double kPrunePatienceS = 10;  // for the next report of a trial

}  // namespace

Result<void> RunRequests::look() {
  if (parts_.clock.now_s() - looked_s_ < kRequestsEveryS) return {};
  looked_s_ = parts_.clock.now_s();
  if (ending_.is_stopping()) {
    parts_.pool.suspend();
    return {};
  }
  for (const RunRequest& request : parts_.requests()) {
    const bool can_wait = request.kind != RunRequest::kStop;
    if (!outbox_.is_paused() || !can_wait) DETOL_TRY(handle(request));
  }
  return {};
}

Result<void> RunRequests::handle(const RunRequest& request) {
  switch (request.kind) {
    case RunRequest::kStop:
      stop();  // it stands until the run has ended
      return {};
    case RunRequest::kPrune:
      return prune(request);
    case RunRequest::kRetry:
      return retry(request);
    case RunRequest::kBudget:
      return raise_budget(request);
  }
  return {};
}

Result<void> RunRequests::prune(const RunRequest& request) {
  const TrialId id = request.trial;
  const TrialRecord* trial = state_.find(id);
  if (trial != nullptr && !trial->is_over()) {
    const double now_s = parts_.clock.now_s();
    const double asked_s = running_.prune(id);
    const bool is_running = trial->state == TrialState::kRunning;
    if (trial->epochs == 0 || (is_running && now_s - asked_s < kPrunePatienceS)) return {};
    if (is_running) parts_.pool.drop(id);
    DETOL_TRY(recorder_.tell(id, {EndCause::kRequest}));
  } else if (trial == nullptr || trial->reason.cause != EndCause::kRequest) {
    log_warning("trial {} is not pruned: it is not trained any more", id);
  }
  running_.forget_to_prune(id);
  outbox_.answer(request);
  return {};
}

Result<void> RunRequests::retry(const RunRequest& request) {
  const TrialRecord* trial = state_.find(request.trial);
  if (trial == nullptr || !may_differ_when_retried(*trial)) {
    log_warning("trial {} is not retried: it has not failed, or would again", request.trial);
  } else if (ending_.is_closed()) {
    log_warning("trial {} is not retried: the search is at its end", request.trial);
  } else {
    DETOL_TRY(recorder_.requeue(request.trial, {RequeueCause::kRetried}));
  }
  outbox_.answer(request);
  return {};
}

Result<void> RunRequests::raise_budget(const RunRequest& request) {
  const auto total = parse_budget(request.budget);
  if (!total) {
    log_warning("the budget stays as it is: {}", total.error().message);
  } else if (ending_.is_closed()) {
    log_warning("the budget stays as it is: the search is at its end");
  } else {
    budget_.replace(*total);
    placement_.hire_again();
    DETOL_TRY(recorder_.record(event::StudyState{
        .state = StudyPhase::kRunning, .budget = to_text(*total), .at_s = parts_.clock.wall_s()}));
    DETOL_TRY(placement_.continue_what_the_budget_ended());
    log_info("the budget is {} now", to_text(*total));
  }
  outbox_.answer(request);
  return {};
}

void RunRequests::stop() {
  if (ending_.is_stopping()) return;
  looked_s_ = parts_.clock.now_s();
  ending_.stop();
  parts_.pool.suspend();
}

}  // namespace detol::inline scheduler

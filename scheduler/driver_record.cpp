// The driver writes only through events: they change the state, the searcher and the pruner at
// once, become durable together at commit(), and only then leave the process. Should the commit
// fail, the process ends, or, on a full disk, the same events are committed later.

#include <limits>
#include <utility>

#include "core/fault.h"
#include "core/log.h"
#include "scheduler/driver.h"

namespace detol::inline scheduler {
namespace {

constexpr double kAccountEveryS = 5;  // a kill loses at most this much of the time used

}  // namespace

Result<void> Driver::replay(std::span<const Event> events) {
  for (const Event& event : events) DETOL_TRY(apply(event));
  before_ = state_.spent();
  if (!state_.choices().algorithms.empty()) parts_.pool.broadcast(state_.choices());
  return {};
}

// Applies an event to the state, the searcher, the pruner and the target, in the ledger's order.
Result<void> Driver::apply(const Event& event) {
  const auto* reported = std::get_if<event::Reported>(&event);
  if (reported != nullptr) learn_speed(*reported);
  DETOL_TRY(state_.apply(event));
  if (const auto* asked = std::get_if<event::Asked>(&event))
    proposals_.expect(state_.find(asked->trial)->trial);
  if (reported != nullptr) report_metrics_.learn(*reported);
  if (reported != nullptr) inform(*reported);
  if (const auto* told = std::get_if<event::Told>(&event)) {
    promises_.remove(told->trial);
    inform(*told);
  }
  if (const auto* refit = std::get_if<event::Refit>(&event)) inform(*refit);
  if (const auto* requeued = std::get_if<event::Requeued>(&event)) {
    promises_.remove(requeued->trial);
    parts_.pruner.withdraw(requeued->trial);
  }
  return {};
}

void Driver::learn_speed(const event::Reported& reported) {
  const TrialRecord* trial = state_.find(reported.trial);
  if (trial == nullptr || reported.train_s <= 0) return;  // taken over from another study
  const bool is_first = forecast_.is_empty();
  forecast_.learn(reported.trial, reported.work - trial->work, reported.train_s, trial->worker);
  if (is_first) promise_again();
}

void Driver::inform(const event::Reported& reported) {
  advice_ = parts_.pruner.judge_all(reported.trial, reported.epochs(),
                                    state_.find(reported.trial)->values);
  for (const auto& [name, measured] : reported.metrics) {
    if (parts_.target && parts_.target->metric == name)
      target_reached_ = target_reached_ || parts_.target->is_reached_by(measured);
  }
}

void Driver::inform(const event::Told& told) {
  const TrialRecord& trial = *state_.find(told.trial);
  if (told.reason.cause != EndCause::kSameTrial) equal_in_row_ = 0;
  if (state_.teaches(told)) proposals_.tell(trial.trial, *trial.outcome);
  refitter_.retry_failed_job();
  const bool is_paused =
      told.reason.cause == EndCause::kPruner && told.reason.detail == parts_.config.pruner.name;
  if (!is_paused) parts_.pruner.withdraw(told.trial);
}

// The ledger keeps all of a refit except `prepared`.
void Driver::inform(const event::Refit& refit) {
  proposals_.absorb({.model = refit.model,
                     .version = refit.version,
                     .observations = refit.observations,
                     .parameters = refit.parameters,
                     .prepared = std::exchange(prepared_, nullptr)});
}

Result<void> Driver::record(Event event) {
  DETOL_TRY(apply(event));
  batch_.push_back(std::move(event));
  return {};
}

Result<void> Driver::account() {
  const bool is_accounted =
      !batch_.empty() && std::holds_alternative<event::Accounted>(batch_.back());
  if (is_accounted) batch_.pop_back();  // left by an append to a full disk
  const Spent now = spent();
  return record(event::Accounted{.wall_s = now.wall_s, .device_s = now.device_s});
}

Result<void> Driver::commit() {
  if (!batch_.empty() || parts_.clock.now_s() - committed_s_ >= kAccountEveryS) {
    DETOL_TRY(account());
    Result<void> done = parts_.ledger.append(parts_.study, batch_, facts_);
    if (!done && !parts_.ledger.may_retry()) return done;
    const bool was_paused = std::exchange(is_paused_, !done);
    if (!done && !was_paused)
      log_warning("{}; the search waits until it can write", done.error().message);
    if (!done) return {};
    if (was_paused) log_info("the search can write again, and resumes");
    facts_.clear();
    committed_s_ = parts_.clock.now_s();
    fault_or_throw("master.answer");
  }
  if (!chosen_.algorithms.empty()) parts_.pool.broadcast(std::exchange(chosen_, {}));
  for (const message::ReportAck& ack : std::exchange(report_acks_, {}))
    parts_.pool.acknowledge(ack);
  for (const message::EndAck& ack : std::exchange(end_acks_, {})) parts_.pool.acknowledge(ack);
  for (const Assignment& assignment : std::exchange(assignments_, {}))
    parts_.pool.start(assignment.worker, assignment.train);
  for (const auto& [worker, trial] : std::exchange(declined_, {}))
    parts_.pool.decline(worker, trial);
  for (const RunRequest& request : std::exchange(answered_, {})) parts_.answered(request);
  if (!batch_.empty()) fault_or_throw("master.answered");
  for (const Event& event : std::exchange(batch_, {})) {
    for (Observer* observer : parts_.observers) observer->happened(event, state_);
  }
  return {};
}

Result<void> Driver::tell(TrialId trial, EndReason reason, double unreported_s) {
  const TrialRecord& entry = *state_.find(trial);
  const bool stopped_early = reason.cause != EndCause::kFullLength;
  const std::vector<double> unknown(state_.objectives().size(),
                                    std::numeric_limits<double>::quiet_NaN());
  return record(event::Told{.trial = trial,
                            .state = stopped_early ? TrialState::kPruned : TrialState::kComplete,
                            .reason = std::move(reason),
                            .outcome = Measured{.values = entry.epochs > 0 ? entry.values : unknown,
                                                .fidelity = entry.epochs,
                                                .work = entry.work,
                                                .stopped_early = stopped_early},
                            .at_s = parts_.clock.wall_s(),
                            .unreported_s = unreported_s});
}

Result<void> Driver::tell_failed(TrialId trial, Cause cause, std::string reason) {
  const TrialRecord& entry = *state_.find(trial);
  return record(
      event::Told{.trial = trial,
                  .state = TrialState::kFail,
                  .reason = {EndCause::kFailure, std::move(reason)},
                  .outcome = Failed{.cause = cause, .fidelity = entry.epochs, .work = entry.work},
                  .at_s = parts_.clock.wall_s()});
}

Result<void> Driver::requeue(TrialId trial, RequeueReason reason, double unreported_s) {
  return record(event::Requeued{.trial = trial,
                                .attempt = state_.find(trial)->attempt,
                                .reason = std::move(reason),
                                .unreported_s = unreported_s});
}

}  // namespace detol::inline scheduler

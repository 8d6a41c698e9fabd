// The driver writes only through events: they change the state, the searcher and the pruner at
// once, become durable together at commit(), and only then leave the process. Should the commit
// fail, the process ends, or, on a full disk, the same events are committed later.

#include <limits>
#include <utility>

#include "scheduler/driver.h"

namespace detol::inline scheduler {

Result<void> Driver::replay(std::span<const Event> events) {
  for (const Event& event : events) DETOL_TRY(apply(event));
  used_.replayed();
  if (!state_.choices().algorithms.empty()) parts_.pool.broadcast(state_.choices());
  return {};
}

// Applies an event to the state, the searcher, the pruner and the target, in the ledger's order.
Result<void> Driver::apply(const Event& event) {
  const auto* reported = std::get_if<event::Reported>(&event);
  if (reported != nullptr) budget_.learn(*reported);
  DETOL_TRY(state_.apply(event));
  if (const auto* asked = std::get_if<event::Asked>(&event))
    proposals_.expect(state_.find(asked->trial)->trial);
  if (reported != nullptr) report_metrics_.learn(*reported);
  if (reported != nullptr) inform(*reported);
  if (const auto* told = std::get_if<event::Told>(&event)) {
    budget_.withdraw(told->trial);
    inform(*told);
  }
  if (const auto* refit = std::get_if<event::Refit>(&event)) inform(*refit);
  if (const auto* requeued = std::get_if<event::Requeued>(&event)) {
    budget_.withdraw(requeued->trial);
    parts_.pruner.withdraw(requeued->trial);
  }
  return {};
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
  if (told.reason.cause != EndCause::kSameTrial) equals_.found_new();
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
  outbox_.add(std::move(event));
  return {};
}

Result<void> Driver::commit() {
  if (outbox_.is_due()) {
    outbox_.remove_account();
    const Spent now = used_.spent();
    DETOL_TRY(record(event::Accounted{.wall_s = now.wall_s, .device_s = now.device_s}));
    DETOL_ASSIGN(const bool is_durable, outbox_.write());
    if (!is_durable) return {};
  }
  outbox_.send(state_);
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

#include "scheduler/recorder.h"

#include <limits>

namespace detol::inline scheduler {

Result<void> Recorder::apply(const Event& event) {
  const auto* reported = std::get_if<event::Reported>(&event);
  if (reported != nullptr) listeners_.budget.learn(*reported);
  DETOL_TRY(state_.apply(event));
  if (const auto* asked = std::get_if<event::Asked>(&event)) listeners_.source.expect(*asked);
  if (reported != nullptr) report_metrics_.learn(*reported);
  if (reported != nullptr) inform(*reported);
  if (const auto* told = std::get_if<event::Told>(&event)) {
    listeners_.budget.withdraw(told->trial);
    inform(*told);
  }
  if (const auto* refit = std::get_if<event::Refit>(&event)) listeners_.source.absorb(*refit);
  if (const auto* requeued = std::get_if<event::Requeued>(&event)) {
    listeners_.budget.withdraw(requeued->trial);
    parts_.pruner.withdraw(requeued->trial);
  }
  return {};
}

void Recorder::inform(const event::Reported& reported) {
  advice_ = parts_.pruner.judge_all(reported.trial, reported.epochs(),
                                    state_.find(reported.trial)->values);
  listeners_.ending.learn(reported);
}

void Recorder::inform(const event::Told& told) {
  if (told.reason.cause != EndCause::kSameTrial) listeners_.equals.found_new();
  listeners_.source.tell(told);
  const bool is_paused =
      told.reason.cause == EndCause::kPruner && told.reason.detail == parts_.config.pruner.name;
  if (!is_paused) parts_.pruner.withdraw(told.trial);
}

Result<void> Recorder::record(Event event) {
  DETOL_TRY(apply(event));
  outbox_.add(std::move(event));
  return {};
}

Result<void> Recorder::commit() {
  if (outbox_.is_due()) {
    outbox_.remove_account();
    const Spent now = listeners_.budget.used().spent();
    DETOL_TRY(record(event::Accounted{.wall_s = now.wall_s, .device_s = now.device_s}));
    DETOL_ASSIGN(const bool is_durable, outbox_.write());
    if (!is_durable) return {};
  }
  outbox_.send(state_);
  return {};
}

Result<void> Recorder::tell(TrialId trial, EndReason reason, double unreported_s) {
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

Result<void> Recorder::tell_failed(TrialId trial, Cause cause, std::string reason) {
  const TrialRecord& entry = *state_.find(trial);
  return record(
      event::Told{.trial = trial,
                  .state = TrialState::kFail,
                  .reason = {EndCause::kFailure, std::move(reason)},
                  .outcome = Failed{.cause = cause, .fidelity = entry.epochs, .work = entry.work},
                  .at_s = parts_.clock.wall_s()});
}

Result<void> Recorder::requeue(TrialId trial, RequeueReason reason, double unreported_s) {
  return record(event::Requeued{.trial = trial,
                                .attempt = state_.find(trial)->attempt,
                                .reason = std::move(reason),
                                .unreported_s = unreported_s});
}

Result<void> Recorder::answer(TrialId trial, const TrialRecord& earlier) {
  return record(event::Told{.trial = trial,
                            .state = earlier.state,
                            .reason = {EndCause::kSameTrial, "", earlier.trial.id},
                            .outcome = *earlier.outcome,
                            .at_s = parts_.clock.wall_s()});
}

Result<void> Recorder::take_over(TrialId trial, const KnownTrial& known) {
  double train_s = 0;
  for (event::Reported reported : known.reports) {
    train_s += reported.train_s;
    reported.trial = trial;
    complete(reported, train_s);
    reported.attempt = 0;
    reported.work = 0;
    reported.train_s = 0;
    DETOL_TRY(record(std::move(reported)));
  }
  return record(event::Told{.trial = trial,
                            .state = known.told.state,
                            .reason = {EndCause::kSameTrial, known.study, known.trial},
                            .outcome = known.told.outcome,
                            .at_s = parts_.clock.wall_s()});
}

void Recorder::complete(event::Reported& report, double train_s) {
  report_metrics_.complete(report, train_s, [&] {
    return parts_.candidates.cost_metrics(state_.find(report.trial)->trial.genome);
  });
}

}  // namespace detol::inline scheduler

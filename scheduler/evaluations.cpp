#include "scheduler/evaluations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace detol::inline scheduler {
namespace {

constexpr double kLookEveryS = 1;    // between checks for trials that take too long
constexpr double kMostBackOffS = 8;  // before the next attempt of a trial that was lost twice
constexpr int kMostLosses = 20;      // of one trial in a row, whatever the cause
constexpr int kMostKills = 10;       // likewise, where SIGKILL is the last of them

}  // namespace

Result<void> Evaluations::handle(const PoolEvent& event) {
  return std::visit([this](const auto& e) { return on(e); }, event);
}

Result<void> Evaluations::on(const message::Report& report) {
  message::ReportAck ack{report.trial, report.attempt, report.report.epochs(), Verdict::kStop};
  if (running_.is_current(report.trial, report.attempt)) {
    const TrialRecord& trial = *state_.find(report.trial);
    if (report.after > trial.epochs) return {};  // one before it is missing; they come again
    if (report.report.epochs() > trial.epochs) {
      event::Reported event{.trial = report.trial,
                            .attempt = report.attempt,
                            .epoch = report.report.epoch,
                            .metrics = {},
                            .work = report.report.work,
                            .train_s = report.report.train_s * trial.group_size,
                            .step = report.report.step,
                            .part = report.report.part,
                            .is_best = report.report.is_best};
      for (const Metric& m : report.report.metrics) event.metrics.emplace_back(m.name, m.value);
      recorder_.complete(event, trial.train_s + report.report.train_s);
      DETOL_TRY(recorder_.record(std::move(event)));
      running_.reported(report.trial);
      if (report.more && !recorder_.advises_to_stop()) return {};
      DETOL_ASSIGN(ack.verdict, judge(report.trial, report.report));
    } else {
      ack.verdict = ending_.is_stopping() ? Verdict::kSuspend : Verdict::kContinue;
    }
    ack.undecided = ending_.undecided(report.trial);
    if (ack.verdict != Verdict::kContinue) running_.leaves(report.trial, report.attempt);
  }
  if (report.more) return {};
  outbox_.acknowledge(ack);
  return {};
}

// Decides what becomes of a trial after a new report.
Result<Verdict> Evaluations::judge(TrialId trial, const EpochReport& report) {
  const bool pruned = recorder_.advises_to_stop();
  recorder_.take_advice();
  ending_.look();
  const std::optional<EndCause> cuts = ending_.cuts();
  if (report.is_last || report.epochs() >= running_.full_length(trial)) {
    DETOL_TRY(recorder_.tell(trial, {EndCause::kFullLength}));
  } else if (running_.is_overlong(trial)) {
    DETOL_TRY(recorder_.tell(trial, {EndCause::kDuration}));
  } else if (running_.is_to_be_pruned(trial)) {
    DETOL_TRY(recorder_.tell(trial, {EndCause::kRequest}));
  } else if (pruned) {
    DETOL_TRY(recorder_.tell(trial, {EndCause::kPruner, parts_.config.pruner.name}));
  } else if (cuts && cuts != EndCause::kBudget) {
    DETOL_TRY(recorder_.tell(trial, {*cuts}));
  } else if (!budget_.has_time_for(trial)) {
    DETOL_TRY(recorder_.tell(trial, {EndCause::kBudget}));
  } else {
    budget_.promise(trial);
    return ending_.is_stopping() ? Verdict::kSuspend : Verdict::kContinue;
  }
  return Verdict::kStop;
}

// Records the first choice of each shape; a worker that times it later gets that choice.
Result<void> Evaluations::on(const message::Timed& timed) {
  for (const TimedShape& choice : timed.choices) {
    if (state_.choices().find(choice.key) == nullptr) {
      DETOL_TRY(recorder_.record(event::AlgorithmChosen{.key = choice.key,
                                                        .algorithm = choice.algorithm,
                                                        .seconds = choice.seconds,
                                                        .at_s = parts_.clock.wall_s()}));
    }
    outbox_.broadcast(choice.key, *state_.choices().find(choice.key));
  }
  return {};
}

Result<void> Evaluations::on(const message::Ended& ended) {
  running_.has_left(ended.trial, ended.attempt);
  const message::EndAck ack{ended.trial, ended.attempt};
  const bool is_current_attempt = running_.is_current(ended.trial, ended.attempt);
  if (!is_current_attempt && !outbox_.is_paused()) {
    // Its outcome is durable: the worker is free at once.
    parts_.pool.acknowledge(ack);
    return {};
  }
  outbox_.acknowledge(ack);
  if (!is_current_attempt) return {};
  const Evaluation& evaluation = ended.evaluation;
  if (ended.trouble == message::Ended::Trouble::kStorage) return wait_for_the_disk(ended);
  const auto crashed = [&](std::string how) {
    return on(Lost{ended.trial, ended.attempt, {RequeueCause::kCrashed, std::move(how)}});
  };
  if (ended.trouble == message::Ended::Trouble::kCrash) return crashed(evaluation.reason);
  switch (evaluation.end) {
    case Evaluation::End::kFailed:
      return recorder_.tell_failed(ended.trial, evaluation.cause, evaluation.reason);
    case Evaluation::End::kSuspended: {
      const double device_s = evaluation.unreported_s * state_.find(ended.trial)->group_size;
      if (budget_.has_suspended() && !ending_.is_stopping())
        return recorder_.tell(ended.trial, {EndCause::kBudget}, device_s);
      return recorder_.requeue(ended.trial, {RequeueCause::kStopped}, device_s);
    }
    case Evaluation::End::kFinished:
      if (parts_.config.ends_by_itself())
        return recorder_.tell(ended.trial, {EndCause::kFullLength});
      break;
  }
  return crashed("it ended without being told to");
}

Result<void> Evaluations::on(const Lost& lost) {
  if (!running_.is_current(lost.trial, lost.attempt)) return {};
  const TrialRecord& entry = *state_.find(lost.trial);
  if (lost.reason.cause == RequeueCause::kOutOfMemory) {
    if (entry.oom_kills == 0) return recorder_.requeue(lost.trial, lost.reason);
    return recorder_.tell_failed(lost.trial, Cause::kOutOfMemory, lost.reason.detail);
  }
  DETOL_TRY(recorder_.requeue(lost.trial, lost.reason));
  if (lost.by_sigkill && entry.losses >= kMostKills) {
    return recorder_.tell_failed(
        lost.trial, Cause::kCrashed,
        fmt::format("{} attempts in a row were lost without a new epoch, the last one to SIGKILL; "
                    "if nobody sent it, a watcher of memory did (earlyoom, a batch system, a "
                    "container): allow more memory, or smaller networks",
                    entry.losses));
  }
  if (entry.crashes >= parts_.config.resources.attempts || entry.losses >= kMostLosses)
    return recorder_.tell_failed(lost.trial, Cause::kCrashed, lost.reason.detail);
  const double back_off_s = std::min(std::ldexp(1.0, entry.losses - 2), kMostBackOffS);
  if (entry.losses > 1) running_.back_off(lost.trial, back_off_s);
  return {};
}

// Requeues the trial until there may be space again; a full disk uses up no attempt.
Result<void> Evaluations::wait_for_the_disk(const message::Ended& ended) {
  running_.back_off_from_disk(ended.trial);
  return recorder_.requeue(
      ended.trial,
      {RequeueCause::kDisk, ended.evaluation.reason + "; it resumes when that is possible again"});
}

Result<void> Evaluations::on(const Scored& scored) {
  outbox_.acknowledge(message::EndAck{scored.trial, scored.attempt});
  if (!running_.is_current(scored.trial, scored.attempt)) return {};
  const TrialRecord& trial = *state_.find(scored.trial);
  if (!scored.metrics.empty()) {
    const int length = running_.full_length(scored.trial),
              next = static_cast<int>(trial.epochs) + 1;
    event::Reported event{.trial = scored.trial,
                          .attempt = scored.attempt,
                          .epoch = scored.is_early || length >= kEndless ? next : length,
                          .metrics = {},
                          .train_s = parts_.clock.now_s() - running_.last_report_s(scored.trial)};
    for (const Metric& m : scored.metrics) event.metrics.emplace_back(m.name, m.value);
    recorder_.complete(event, trial.train_s + event.train_s);
    DETOL_TRY(recorder_.record(std::move(event)));
    recorder_.take_advice();
  }
  const EndReason early(EndCause::kPruner, "caller");
  return recorder_.tell(scored.trial, scored.is_early ? early : EndReason(EndCause::kFullLength));
}

// One that reports is ended by judge().
Result<void> Evaluations::end_overlong() {
  const double now_s = parts_.clock.now_s();
  const bool is_due = now_s - looked_at_durations_s_ >= kLookEveryS;
  if (parts_.config.resources.max_trial_duration_s <= 0 || !is_due) return {};
  looked_at_durations_s_ = now_s;
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    if (!running_.is_overlong(id)) continue;
    parts_.pool.drop(id);
    if (state_.find(id)->epochs > 0)
      DETOL_TRY(recorder_.tell(id, {EndCause::kDuration}));
    else
      DETOL_TRY(recorder_.tell_failed(id, Cause::kTimeout,
                                      "no epoch within resources.max_trial_duration"));
  }
  return {};
}

Result<void> Evaluations::suspend_at_the_end() {
  const bool is_due = !ending_.is_stopping() && state_.running() > 0 && budget_.is_used_up();
  if (!is_due || !budget_.suspend()) return {};
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    parts_.pool.drop(id);
    DETOL_TRY(recorder_.tell(id, {EndCause::kBudget}));
  }
  return {};
}

}  // namespace detol::inline scheduler

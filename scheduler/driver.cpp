// One iteration of the loop is one transaction. The messages of the workers since the last
// iteration and the next assignments of the free workers become events, which are committed
// together; only then does the driver send acknowledgements and assignments. After a kill at any
// instant, the workers therefore complete the ledger by repeating their messages.
//
// No proposal depends on time: with one worker the order of events is fixed, and so is the search.

#include "scheduler/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace detol::inline scheduler {
namespace {

constexpr double kStopPatienceS = 8;  // for workers to checkpoint after a stop request
constexpr double kLookEveryS = 1;     // between checks for trials that take too long
constexpr double kMostBackOffS = 8;   // before the next attempt of a trial that was lost twice
constexpr int kMostLosses = 20;       // of one trial in a row, whatever the cause
constexpr int kMostKills = 10;        // likewise, where SIGKILL is the last of them

// An ask that has ended ends the pool's wait.
AskSettings asks_of(const DriverParts& parts) {
  AskSettings settings = parts.asks;
  settings.wake = [&pool = parts.pool] { pool.wake(); };
  return settings;
}

}  // namespace

Driver::Driver(DriverParts parts)
    : parts_(std::move(parts)),
      state_(parts_.config.space, parts_.config.objectives, parts_.config.metric_constraints),
      running_(parts_, state_),
      used_(parts_, state_),
      budget_(parts_, state_, running_, used_),
      equals_(parts_.config, state_),
      memory_(parts_, state_),
      refitter_(parts_.searcher, parts_.refits, [&pool = parts_.pool] { pool.wake(); }),
      proposals_(parts_.searcher, parts_.clock, asks_of(parts_)),
      report_metrics_(parts_.config),
      outbox_(parts_) {}

Result<std::string> Driver::run() {
  DETOL_TRY(begin());
  while (!is_over()) DETOL_TRY(turn());
  return finish();
}

Result<void> Driver::begin() {
  outbox_.begin();
  used_.begin();
  for (Observer* observer : parts_.observers) observer->began(state_);
  used_.read_devices();
  DETOL_TRY(adopt());
  return place();
}

Result<void> Driver::turn(double at_most_s) {
  const std::vector<PoolEvent> events = parts_.pool.wait(std::min(at_most_s, longest_wait_s()));
  used_.read_devices();
  DETOL_TRY(absorb(events));
  DETOL_TRY(place());
  for (Observer* observer : parts_.observers)
    observer->turned(state_, {used_.spent(), is_stopping()});
  return {};
}

Result<void> Driver::absorb(const std::vector<PoolEvent>& events) {
  for (const PoolEvent& event : events)
    DETOL_TRY(std::visit([this](const auto& e) { return handle(e); }, event));
  DETOL_TRY(end_overlong());
  DETOL_TRY(look_for_requests());
  look_for_an_end();
  return suspend_at_the_end();
}

Result<void> Driver::handle(const message::Report& report) {
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
      complete(event, trial.train_s + report.report.train_s);
      DETOL_TRY(record(std::move(event)));
      running_.reported(report.trial);
      if (report.more && advice_ == Advice::kContinue) return {};
      DETOL_ASSIGN(ack.verdict, judge(report.trial, report.report));
    } else {
      ack.verdict = is_stopping() ? Verdict::kSuspend : Verdict::kContinue;
    }
    ack.undecided = undecided(report.trial);
    if (ack.verdict != Verdict::kContinue) running_.leaves(report.trial, report.attempt);
  }
  if (report.more) return {};
  outbox_.acknowledge(ack);
  return {};
}

// A target and a budget of work end a trial at a certain report, so that each is decided on.
double Driver::undecided(TrialId trial) const {
  if (parts_.target || budget_.counts_work()) return 0;
  return parts_.pruner.undecided(trial, state_.find(trial)->epochs);
}

void Driver::complete(event::Reported& report, double train_s) {
  std::function<NamedMetrics()> costs;
  if (parts_.cost_metrics) {
    costs = [&] {
      const auto candidate = parts_.decode(state_.find(report.trial)->trial.genome);
      return candidate ? parts_.cost_metrics(*candidate) : NamedMetrics();
    };
  }
  report_metrics_.complete(report, train_s, costs);
}

// Decides what becomes of a trial after a new report.
Result<Verdict> Driver::judge(TrialId trial, const EpochReport& report) {
  const bool pruned = std::exchange(advice_, Advice::kContinue) != Advice::kContinue;
  look_for_an_end();
  if (report.is_last || report.epochs() >= running_.full_length(trial)) {
    DETOL_TRY(tell(trial, {EndCause::kFullLength}));
  } else if (running_.is_overlong(trial)) {
    DETOL_TRY(tell(trial, {EndCause::kDuration}));
  } else if (prunes_.contains(trial)) {
    DETOL_TRY(tell(trial, {EndCause::kRequest}));
  } else if (pruned) {
    DETOL_TRY(tell(trial, {EndCause::kPruner, parts_.config.pruner.name}));
  } else if (closing_ && closing_->cuts && closing_->cuts != EndCause::kBudget) {
    DETOL_TRY(tell(trial, {*closing_->cuts}));
  } else if (!budget_.has_time_for(trial)) {
    DETOL_TRY(tell(trial, {EndCause::kBudget}));
  } else {
    budget_.promise(trial);
    return is_stopping() ? Verdict::kSuspend : Verdict::kContinue;
  }
  return Verdict::kStop;
}

// Records the first choice of each shape; a worker that times it later gets that choice.
Result<void> Driver::handle(const message::Timed& timed) {
  for (const TimedShape& choice : timed.choices) {
    if (state_.choices().find(choice.key) == nullptr) {
      DETOL_TRY(record(event::AlgorithmChosen{.key = choice.key,
                                              .algorithm = choice.algorithm,
                                              .seconds = choice.seconds,
                                              .at_s = parts_.clock.wall_s()}));
    }
    outbox_.broadcast(choice.key, *state_.choices().find(choice.key));
  }
  return {};
}

Result<void> Driver::handle(const message::Ended& ended) {
  running_.has_left(ended.trial, ended.attempt);
  const message::EndAck ack{ended.trial, ended.attempt};
  const bool is_current_attempt = running_.is_current(ended.trial, ended.attempt);
  if (!is_current_attempt &&
      !outbox_.is_paused()) {  // its outcome is durable: the worker is free at once
    parts_.pool.acknowledge(ack);
    return {};
  }
  outbox_.acknowledge(ack);
  if (!is_current_attempt) return {};
  const Evaluation& evaluation = ended.evaluation;
  if (ended.trouble == message::Ended::Trouble::kStorage) return wait_for_the_disk(ended);
  const auto crashed = [&](std::string how) {
    return handle(Lost{ended.trial, ended.attempt, {RequeueCause::kCrashed, std::move(how)}});
  };
  if (ended.trouble == message::Ended::Trouble::kCrash) return crashed(evaluation.reason);
  switch (evaluation.end) {
    case Evaluation::End::kFailed:
      return tell_failed(ended.trial, evaluation.cause, evaluation.reason);
    case Evaluation::End::kSuspended: {
      const double device_s = evaluation.unreported_s * state_.find(ended.trial)->group_size;
      if (budget_.has_suspended() && !is_stopping())
        return tell(ended.trial, {EndCause::kBudget}, device_s);
      return requeue(ended.trial, {RequeueCause::kStopped}, device_s);
    }
    case Evaluation::End::kFinished:
      if (parts_.config.ends_by_itself()) return tell(ended.trial, {EndCause::kFullLength});
      break;
  }
  return crashed("it ended without being told to");
}

Result<void> Driver::handle(const Lost& lost) {
  if (!running_.is_current(lost.trial, lost.attempt)) return {};
  const TrialRecord& entry = *state_.find(lost.trial);
  if (lost.reason.cause == RequeueCause::kOutOfMemory) {
    if (entry.oom_kills == 0) return requeue(lost.trial, lost.reason);
    return tell_failed(lost.trial, Cause::kOutOfMemory, lost.reason.detail);
  }
  DETOL_TRY(requeue(lost.trial, lost.reason));
  if (lost.by_sigkill && entry.losses >= kMostKills) {
    return tell_failed(
        lost.trial, Cause::kCrashed,
        fmt::format("{} attempts in a row were lost without a new epoch, the last one to SIGKILL; "
                    "if nobody sent it, a watcher of memory did (earlyoom, a batch system, a "
                    "container): allow more memory, or smaller networks",
                    entry.losses));
  }
  if (entry.crashes >= parts_.config.resources.attempts || entry.losses >= kMostLosses)
    return tell_failed(lost.trial, Cause::kCrashed, lost.reason.detail);
  const double back_off_s = std::min(std::ldexp(1.0, entry.losses - 2), kMostBackOffS);
  if (entry.losses > 1) running_.back_off(lost.trial, back_off_s);
  return {};
}

// Requeues the trial until there may be space again; a full disk uses up no attempt.
Result<void> Driver::wait_for_the_disk(const message::Ended& ended) {
  running_.back_off_from_disk(ended.trial);
  return requeue(
      ended.trial,
      {RequeueCause::kDisk, ended.evaluation.reason + "; it resumes when that is possible again"});
}

Result<void> Driver::handle(const StopRequest&) {
  if (is_stopping()) return {};
  looked_s_ = parts_.clock.now_s();
  stop_deadline_s_ = looked_s_ + kStopPatienceS;
  parts_.pool.suspend();
  return {};
}

// Suspends what runs when the budget is used up, and gives up on workers that do not answer.
Result<void> Driver::suspend_at_the_end() {
  const bool is_due = !is_stopping() && state_.running() > 0 && budget_.is_used_up();
  if (!is_due || !budget_.suspend()) return {};
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    parts_.pool.drop(id);
    DETOL_TRY(tell(id, {EndCause::kBudget}));
  }
  return {};
}

// Ends trials that take too long and report nothing; one that reports is ended by judge().
Result<void> Driver::end_overlong() {
  const double now_s = parts_.clock.now_s();
  const bool is_due = now_s - looked_at_durations_s_ >= kLookEveryS;
  if (parts_.config.resources.max_trial_duration_s <= 0 || !is_due) return {};
  looked_at_durations_s_ = now_s;
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    if (!running_.is_overlong(id)) continue;
    parts_.pool.drop(id);
    if (state_.find(id)->epochs > 0)
      DETOL_TRY(tell(id, {EndCause::kDuration}));
    else
      DETOL_TRY(tell_failed(id, Cause::kTimeout, "no epoch within resources.max_trial_duration"));
  }
  return {};
}

double Driver::longest_wait_s() const {
  return budget_.longest_wait_s(proposals_.seconds_left());
}

std::string Driver::stopped() const {
  const std::string resume =
      parts_.config.external ? fmt::format("ask again with `detol ask {}`", parts_.config.study)
                             : fmt::format("resume with `detol resume {}`", parts_.config.study);
  if (!outbox_.is_paused()) return "stopped; " + resume;
  return "stopped, but the last events cannot be written: the study still says that it is running, "
         "and what was not acknowledged is trained again; free some space, or end what holds the "
         "ledger up, then " +
         resume;
}

// Returns the end of the last sentence: what more budget would continue.
std::string Driver::what_waits_for_budget() const {
  const std::vector<TrialId> pruned = state_.in_state(TrialState::kPruned);
  const auto cut = std::ranges::count_if(
      pruned, [&](TrialId id) { return state_.find(id)->reason.cause == EndCause::kBudget; });
  if (cut == 0) return "";
  return fmt::format("; more of it (`detol resume {} --budget +...`) continues {} trial{}",
                     parts_.config.study, cut, cut == 1 ? "" : "s");
}

}  // namespace detol::inline scheduler

// One iteration of the loop is one transaction. The messages of the workers since the last
// iteration and the next assignments of the free workers become events, which are committed
// together; only then does the driver send acknowledgements and assignments. After a kill at any
// instant, the workers therefore complete the ledger by repeating their messages.
//
// No proposal depends on time: with one worker the order of events is fixed, and so is the search.

#include "scheduler/driver.h"

#include <algorithm>
#include <utility>

namespace detol::inline scheduler {

Driver::Driver(DriverParts parts)
    : parts_(std::move(parts)),
      state_(parts_.config.space, parts_.config.objectives, parts_.config.metric_constraints),
      outbox_(parts_),
      running_(parts_, state_),
      budget_(parts_, state_, running_),
      equals_(parts_.config, state_),
      source_(parts_, state_, budget_.used()),
      ending_(parts_, state_, running_, budget_, equals_, outbox_),
      recorder_(parts_, state_, listeners(), outbox_),
      placement_(parts_, state_, running_, listeners(), recorder_, outbox_),
      evaluations_(parts_, state_, running_, budget_, ending_, recorder_, outbox_),
      requests_(parts_, state_, running_, listeners(), recorder_, outbox_, placement_) {}

Result<void> Driver::replay(std::span<const Event> events) {
  for (const Event& event : events) DETOL_TRY(recorder_.apply(event));
  budget_.used().replayed();
  if (!state_.choices().algorithms.empty()) parts_.pool.broadcast(state_.choices());
  return {};
}

Result<std::string> Driver::run() {
  DETOL_TRY(begin());
  while (!is_over()) DETOL_TRY(turn());
  return finish();
}

Result<void> Driver::begin() {
  outbox_.begin();
  budget_.used().begin();
  for (Observer* observer : parts_.observers) observer->began(state_);
  budget_.used().read_devices();
  DETOL_TRY(adopt());
  return placement_.place();
}

Result<void> Driver::turn(double at_most_s) {
  const std::vector<PoolEvent> events = parts_.pool.wait(std::min(at_most_s, longest_wait_s()));
  budget_.used().read_devices();
  DETOL_TRY(absorb(events));
  DETOL_TRY(placement_.place());
  for (Observer* observer : parts_.observers)
    observer->turned(state_, {budget_.used().spent(), ending_.is_stopping()});
  return {};
}

Result<void> Driver::absorb(const std::vector<PoolEvent>& events) {
  for (const PoolEvent& event : events) {
    if (std::holds_alternative<StopRequest>(event)) requests_.stop();
    DETOL_TRY(evaluations_.handle(event));
  }
  DETOL_TRY(evaluations_.end_overlong());
  DETOL_TRY(requests_.look());
  ending_.look();
  return evaluations_.suspend_at_the_end();
}

// Requeues, after a restart, the trials whose worker is gone and those that get another chance by a
// larger budget or --retry-failed.
Result<void> Driver::adopt() {
  const std::vector<Claim> claims = parts_.pool.claims();
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    const bool is_claimed = std::ranges::any_of(claims, [&](const Claim& c) {
      return c.trial == id && running_.is_current(id, c.attempt);
    });
    if (!is_claimed) {
      DETOL_TRY(recorder_.requeue(id, {RequeueCause::kWorkerGone}));
      continue;
    }
    running_.continues(id, budget_.used().began_s());
    budget_.promise(id);
  }
  DETOL_TRY(placement_.continue_what_the_budget_ended());
  for (TrialId id : state_.in_state(TrialState::kFail)) {
    if (parts_.retry_failed && may_differ_when_retried(*state_.find(id)))
      DETOL_TRY(recorder_.requeue(id, {RequeueCause::kRetried}));
  }
  ending_.look();
  return recorder_.commit();
}

double Driver::longest_wait_s() const {
  return budget_.longest_wait_s(source_.seconds_left());
}

Driver::Supply Driver::supply() const {
  if (ending_.is_near()) return Supply::kNone;
  const bool is_at_work = source_.is_at_work() || source_.is_refitting();
  const bool is_later =
      source_.is_dry() || equals_.is_nothing_new() || placement_.has_lacked_time();
  return !is_at_work && is_later ? Supply::kLater : Supply::kComing;
}

// Requeues trials that still run: they were stopped in mid-epoch and resume from a checkpoint.
Result<std::string> Driver::finish() {
  budget_.used().read_devices();
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    if (!parts_.pool.outlives(id)) DETOL_TRY(recorder_.requeue(id, {RequeueCause::kStopped}));
  }
  const bool is_stopping = ending_.is_stopping();
  const std::optional<EndCause> cuts = is_stopping ? std::nullopt : ending_.cuts();
  for (TrialId id : state_.in_state(TrialState::kWaiting)) {
    const TrialRecord& trial = *state_.find(id);
    if (cuts && trial.attempt > 0) DETOL_TRY(recorder_.tell(id, {*cuts}, trial.unreported_s));
  }
  const bool is_done = !is_stopping && !ending_.has_failed();
  DETOL_TRY(recorder_.record(
      event::StudyState{.state = is_done ? StudyPhase::kDone : StudyPhase::kStopped,
                        .budget = to_text(budget_.total()),
                        .at_s = parts_.clock.wall_s()}));
  DETOL_TRY(recorder_.commit());
  return ending_.result();
}

}  // namespace detol::inline scheduler

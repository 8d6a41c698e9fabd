#pragma once

// Callers: the Pool of those who ask for trials, evaluate them themselves and tell what they are
// worth.
//
// A call is posted from any thread and answered on the driver's thread, once what it changes is
// durable; an answer must not block. announce() wakes the driver's thread for the calls that were
// posted. Calls that wait for the same turn of the driver become durable together. A trial that was
// asked for belongs to its caller until it is told, ended by the pruner, or its caller's process on
// this machine is gone: then it waits for whoever asks next.

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/asking/calls.h"
#include "scheduler/asking/held_trials.h"
#include "scheduler/asking/pending_asks.h"
#include "scheduler/asking/posted_calls.h"
#include "scheduler/driver.h"
#include "scheduler/pool.h"

namespace detol::inline scheduler {

class Callers final : public Pool {
 public:
  // Both outlive this object. `wake` is called from any thread to announce calls; null: wait()
  // waits for them itself.
  Callers(const StudyConfig& config, Clock& clock, PostedCalls::Call wake = nullptr);

  // Takes the state in which calls are judged, and from a study's events the trials that callers
  // still have; of this process, those of `own`. Called once, after the replay.
  void attach(const StudyState& state, std::span<const Event> events,
              std::span<const TrialId> own = {});

  // Calls, from any thread. Errors (kUsage): no such trial, it is not evaluated or by another than
  // who has the attempt, a metric is missing. Who knows a trial's attempt may tell it.
  void ask(Ask ask, Answer<AskAnswer> answer);
  void report(StepReport report, Answer<bool> answer);  // true: the trial has ended, stop it
  void tell(Told told, Answer<TellAnswer> answer);      // a trial that is over stays as it is

  // Gives up the trials of a caller that it got from an earlier process and does not name: their
  // answers were lost.
  void release_others(const std::string& caller, std::vector<TrialId> but);

  // Gives the study's state, in which everything is durable that was answered.
  void with_state(Answer<const StudyState*> answer);

  // From any thread.
  void announce() { calls_.announce(); }
  bool has_calls() { return calls_.has_any(); }

  // Waits for calls that are announced, or for wake(). From any thread.
  void wait_for_calls(double at_most_s) { calls_.wait(at_most_s); }

  // Answers the asks that get no more for now. Called after every turn.
  void settle(const Driver& driver);

  // From now on suspend() gives up the trials of this process.
  void begin_closing() { is_closing_ = true; }

  // Returns whether nobody asks, and nobody has a trial. On the driver's thread.
  bool is_idle() const { return held_.is_empty() && asks_.is_empty(); }

  // Answers all calls, also those to come, with the error.
  void end(const Error& error);

  std::vector<Claim> claims() override { return held_.claims(); }
  std::vector<Slot> free() override { return asks_.slots(); }
  std::optional<Slot> slot_after(TrialId, int) override { return std::nullopt; }
  void start(int worker, const message::Train& train) override;
  void decline(int worker, TrialId trial) override;
  void acknowledge(const message::ReportAck& ack) override;
  void acknowledge(const message::EndAck& ack) override;
  void drop(TrialId trial) override { held_.drop(trial); }
  void suspend() override;
  void retire() override {}
  void hire() override {}
  bool outlives(TrialId trial) const override { return held_.is_of_another_process(trial); }
  std::vector<PoolEvent> wait(double at_most_s) override;
  void wake() override { announce(); }
  double held_s() override { return held_.held_s(); }
  int devices() override { return held_.count(); }
  int workers() override;
  double most_memory() override { return std::numeric_limits<double>::infinity(); }

 private:
  std::vector<PoolEvent> collect();
  void take(StepReport report, Answer<bool> answer);
  void take(Told told, Answer<TellAnswer> answer);
  Result<HeldTrial*> find(TrialId trial, int attempt);
  Result<PoolEvent> event_of(Told told, int attempt) const;
  bool give_up(const std::vector<Lost>& lost);
  bool look_for_lost();

  const StudyConfig& config_;
  Clock& clock_;
  const StudyState* state_ = nullptr;
  PostedCalls calls_;
  PendingAsks asks_;
  HeldTrials held_;
  std::multimap<std::pair<TrialId, double>, Answer<bool>> reports_;  // by epochs
  std::multimap<TrialId, Answer<TellAnswer>> tells_;
  std::vector<PoolEvent> events_;
  std::optional<Error> ended_;
  bool is_closing_ = false;
  bool has_warned_of_a_repeat_ = false;
  double looked_s_ = 0;  // for callers that are gone
};

}  // namespace detol::inline scheduler

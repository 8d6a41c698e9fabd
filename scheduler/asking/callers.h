#pragma once

// Callers: the Pool of those who ask for trials, evaluate them themselves and tell what they are
// worth.
//
// A call is posted from any thread and answered on the driver's thread, once what it changes is
// durable; an answer must not block. announce() wakes the driver's thread for the calls that were
// posted. Calls that wait for the same turn of the driver become durable
// together. A trial that was asked for belongs to its caller until it is told, ended by the pruner,
// or its caller's process on this machine is gone: then it waits for whoever asks next.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/asking/asked_trial.h"
#include "scheduler/asking/caller_names.h"
#include "scheduler/asking/calls.h"
#include "scheduler/driver.h"
#include "scheduler/pool.h"

namespace detol::inline scheduler {

class Callers final : public Pool {
 public:
  static constexpr int kFirstSlot = 1'000'000'000;  // numbers of slots; workers have smaller ones

  template <typename T>
  using Answer = std::function<void(Result<T>)>;

  // Both outlive this object. `wake` is called from any thread to announce calls; null: wait()
  // waits for them itself.
  Callers(const StudyConfig& config, Clock& clock, std::function<void()> wake = nullptr);

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
  void announce();
  bool has_calls();

  // Waits for calls that are announced, or for wake(). From any thread.
  void wait_for_calls(double at_most_s);

  // Answers the asks that get no more for now. Called after every turn.
  void settle(const Driver& driver);

  // From now on suspend() gives up the trials of this process.
  void begin_closing() { is_closing_ = true; }

  // Returns whether nobody asks, and nobody has a trial. On the driver's thread.
  bool is_idle() const { return outstanding_.empty() && asks_.empty(); }

  // Answers all calls, also those to come, with the error.
  void end(const Error& error);

  std::vector<Claim> claims() override;
  std::vector<Slot> free() override;
  std::optional<Slot> slot_after(TrialId, int) override { return std::nullopt; }
  void start(int worker, const message::Train& train) override;
  void decline(int worker, TrialId trial) override;
  void acknowledge(const message::ReportAck& ack) override;
  void acknowledge(const message::EndAck& ack) override;
  void drop(TrialId trial) override;
  void suspend() override;
  void retire() override {}
  void hire() override {}
  bool outlives(TrialId trial) const override;
  std::vector<PoolEvent> wait(double at_most_s) override;
  void wake() override { announce(); }
  double held_s() override;
  int devices() override { return static_cast<int>(outstanding_.size()); }
  int workers() override;
  double most_memory() override { return std::numeric_limits<double>::infinity(); }

 private:
  struct Pending {
    Ask ask;
    Answer<AskAnswer> answer;
    std::vector<int> slots = {};  // for trials that it has not got yet
    AskAnswer got = {};
  };
  struct Outstanding {
    int attempt = 0;
    std::string caller;
    bool is_adopted = false;     // an earlier process gave it
    double since_s = 0;          // when it was given, or reported last
    bool counts_from_0 = false;  // its caller's first step was 0
  };
  using Asks = std::list<Pending>;

  void post(std::function<void()> call);
  std::vector<PoolEvent> collect();
  void take(StepReport report, Answer<bool> answer);
  void take(Told told, Answer<TellAnswer> answer);
  Result<Outstanding*> find(TrialId trial, int attempt);
  Result<PoolEvent> event_of(Told told, int attempt) const;
  Asks::iterator asker(int worker);
  void answer(Asks::iterator ask);
  void give(Asks::iterator ask, int worker, AskedTrial trial);
  void forget(TrialId trial);
  bool look_for_lost();

  const StudyConfig& config_;
  Clock& clock_;
  const std::function<void()> wake_;
  const StudyState* state_ = nullptr;
  const std::string self_ = this_caller();

  std::mutex mutex_;  // of these three
  std::condition_variable announced_;
  std::vector<std::function<void()>> posted_;
  bool is_announced_ = false;

  Asks asks_;
  int next_slot_ = kFirstSlot;
  std::map<TrialId, Outstanding> outstanding_;
  std::map<TrialId, int> stopped_;  // the latest attempt whose caller was answered that it ended
  std::multimap<std::pair<TrialId, double>, Answer<bool>> reports_;  // by epochs
  std::multimap<TrialId, Answer<TellAnswer>> tells_;
  std::vector<PoolEvent> events_;
  std::optional<Error> ended_;
  bool is_closing_ = false;
  bool has_warned_of_a_repeat_ = false;
  double looked_s_ = 0;  // for callers that are gone
  double held_s_ = 0;    // until held_at_s_
  double held_at_s_ = 0;
};

}  // namespace detol::inline scheduler

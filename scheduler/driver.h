#pragma once

// Driver: the main loop of a search. It asks the searcher for candidates, refuses them or reuses a
// known outcome where no training is needed, places the rest on free workers, resumes trials that
// the pruner promotes, and turns the workers' reports into events. It sends no answer before these
// events are durable.
//
// It uses the outside world only through its parts (ledger, pool, clock), so the same code runs a
// study on processes and in a test's virtual time. Not thread-safe. Its destructor waits until a
// running fit of the searcher's model ends.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "scheduler/budget_guard.h"
#include "scheduler/driver_parts.h"
#include "scheduler/equal_trials.h"
#include "scheduler/outbox.h"
#include "scheduler/proposals.h"
#include "scheduler/refitter.h"
#include "scheduler/report_metrics.h"
#include "scheduler/running_trials.h"
#include "scheduler/study_state.h"
#include "scheduler/trial_memory.h"
#include "scheduler/used_time.h"

namespace detol::inline scheduler {

// Returns whether a trial that failed may end otherwise if it is trained again.
bool may_differ_when_retried(const TrialRecord& trial);

class Driver {
 public:
  explicit Driver(DriverParts parts);

  // Rebuilds the state from a ledger's events; recomputes no proposal. Called before run().
  Result<void> replay(std::span<const Event> events);

  // Runs the study to its end. Returns a sentence that says why it ended. Errors: kInterrupted
  // (stopped on request, resumable), kFailures (too many trials failed, or all), kStorage.
  Result<std::string> run();

  // The same in steps, for a caller that decides itself when the run ends: begin(), turn() again
  // and again, each of which waits for the pool, and finish(). stop() starts no more trials and
  // suspends those of this run, so that is_over() soon.
  Result<void> begin();
  Result<void> turn(double at_most_s = 1);
  void stop() { (void)handle(StopRequest{}); }
  bool is_over() const;
  Result<std::string> finish();

  // Returns the seconds after which a turn is due, whatever the pool has.
  double longest_wait_s() const;

  // Supply says what somebody who asks for a trial may expect.
  enum class Supply {
    kComing,  // one soon
    kLater,   // one once outcomes of running trials are told
    kNone,    // no more in this run: why_none()
  };
  Supply supply() const;
  std::string why_none() const;

  const StudyState& state() const { return state_; }

 private:
  // Closing holds the reason why no more trials are placed.
  struct Closing {
    std::optional<ErrorCode> error;
    std::string sentence;
    std::optional<EndCause> cuts;  // the reason recorded for trials that it cuts short
  };

  Result<void> adopt();
  Result<void> place();
  Result<void> fill_free_workers();
  Result<void> resume_waiting(std::vector<Slot>& slots);
  Result<void> promote(std::vector<Slot>& slots);
  Result<void> grant_wishes(std::vector<Slot>& slots);
  Result<bool> ask_round(std::vector<Slot>& slots);
  Result<void> refit();
  std::vector<Proposal> propose(const std::vector<Slot>& slots, int count);
  void note_waiting(std::vector<Slot>& slots);
  Demand demand_of(const std::vector<Slot>& slots, int wanted) const;
  std::string proposer_of(const Trial& trial) const;
  Result<void> take_over(TrialId trial, const KnownTrial& known);
  Result<void> answer(TrialId trial, const TrialRecord& earlier);
  Result<void> answer_waiting();
  bool is_nothing_waiting() const;
  event::Asked asked_for(const Proposal& proposal, const Decoded& candidate,
                         std::optional<Fact>& network) const;
  Result<void> consider(const Proposal& proposal, std::vector<Slot>& slots);
  Result<void> start(TrialId trial, const Slot& slot);
  bool may_release(const std::vector<Slot>& left) const;
  void hire_again();
  void close_for_budget();
  void close_for_memory(const std::vector<Slot>& idle);
  Result<void> suspend_at_the_end();

  Result<void> absorb(const std::vector<PoolEvent>& events);
  Result<void> handle(const message::Report& report);
  Result<void> handle(const message::Timed& timed);
  Result<void> handle(const message::Ended& ended);
  Result<void> handle(const Scored& scored);
  Result<void> handle(const Lost& lost);
  Result<void> wait_for_the_disk(const message::Ended& ended);
  Result<void> handle(const StopRequest&);
  Result<void> handle(const Unusable& unusable) { return tl::unexpected(unusable.error); }
  Result<Verdict> judge(TrialId trial, const EpochReport& report);
  double undecided(TrialId trial) const;  // as Pruner::undecided, of the whole study
  void complete(event::Reported& report, double train_s);
  Result<void> end_overlong();
  Result<void> look_for_requests();
  Result<void> handle(const RunRequest& request);
  Result<void> prune(const RunRequest& request);
  Result<void> retry(const RunRequest& request);
  Result<void> raise_budget(const RunRequest& request);
  Result<void> continue_what_the_budget_ended();
  bool have_all_failed() const;
  std::string failures() const;
  std::string answers_of_others() const;
  void look_for_an_end();

  Result<void> tell(TrialId trial, EndReason reason, double unreported_s = 0);
  Result<void> tell_failed(TrialId trial, Cause cause, std::string reason);
  Result<void> requeue(TrialId trial, RequeueReason reason, double unreported_s = 0);
  Result<void> record(Event event);  // applies it; durable at the next commit()
  Result<void> apply(const Event& event);
  void inform(const event::Reported& reported);  // the pruner and the target
  void inform(const event::Told& told);          // the searcher and the pruner
  void inform(const event::Refit& refit);        // the searcher
  Result<void> commit();                         // on a full disk keeps the batch for the next call

  bool is_stopping() const { return stop_deadline_s_.has_value(); }
  std::string what_waits_for_budget() const;
  std::string stopped() const;  // the message for a user

  DriverParts parts_;
  StudyState state_;
  RunningTrials running_;
  UsedTime used_;
  BudgetGuard budget_;
  EqualTrials equals_;
  TrialMemory memory_;
  Refitter refitter_;
  Proposals proposals_;
  std::map<int, double> waiting_since_s_;      // for a proposal: of the workers that are free
  int group_size_ = 1;                         // of the workers, as seen last
  std::shared_ptr<Refit::Prepared> prepared_;  // data of the refit that is being recorded
  ReportMetrics report_metrics_;
  bool lacked_time_ = false;          // in the last turn a trial could not start
  bool releases_ = false;             // in this turn, workers that nothing has time for
  bool has_released_ = false;         // such workers, which may be hired again
  std::map<TrialId, double> prunes_;  // trials to be pruned on request, since when
  std::optional<Closing> closing_;
  std::optional<double> stop_deadline_s_;  // set once a stop was requested
  double looked_s_ = 0;                    // last check for requests, or last reminder of a stop
  double looked_at_durations_s_ = 0;       // last check for trials that take too long
  bool exhausted_ = false;                 // the searcher has nothing more to propose
  bool target_reached_ = false;
  Advice advice_ = Advice::kContinue;  // the pruner's advice after the last report

  Outbox outbox_;
};

}  // namespace detol::inline scheduler

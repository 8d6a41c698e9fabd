#pragma once

// Ending decides when a run of a study is over, and how it ended: the budget is used up, the target
// reached, nothing left to try, too many trials have failed, or somebody asked it to stop. Not
// thread-safe.

#include <optional>
#include <string>

#include "scheduler/budget_guard.h"
#include "scheduler/equal_trials.h"
#include "scheduler/outbox.h"
#include "scheduler/running_trials.h"

namespace detol::inline scheduler {

// Returns whether a trial that failed may end otherwise if it is trained again.
bool may_differ_when_retried(const TrialRecord& trial);

class Ending {
 public:
  // All outlive this object.
  Ending(const DriverParts& parts, const StudyState& state, const RunningTrials& running,
         const BudgetGuard& budget, const EqualTrials& equals, const Outbox& outbox)
      : parts_(parts),
        state_(state),
        running_(running),
        budget_(budget),
        equals_(equals),
        outbox_(outbox) {}

  // Gives the workers their time to checkpoint before the run is over.
  void stop();
  bool is_stopping() const { return stop_deadline_s_.has_value(); }

  // Decides, once, that no more trials are placed: where look() finds a reason, for lack of time in
  // the budget, or for that reason.
  void look();
  void close_for_budget();
  void close(std::string why);
  bool is_closed() const { return closing_.has_value(); }

  // Returns the reason recorded for trials that the end cuts short; nullopt: they are not.
  std::optional<EndCause> cuts() const;

  // Notes whether a report reaches the target, and whether the searcher proposes nothing more.
  void learn(const event::Reported& reported);
  void set_exhausted(bool is_exhausted) { exhausted_ = is_exhausted; }

  // Returns whether no more trials start in this run, and whether nothing is waited for.
  bool is_near() const;
  bool is_over() const;

  // Returns how many epochs a trial trains before its reports are decided on, as
  // Pruner::undecided; 0 where a target or a budget of work ends it at a certain report.
  double undecided(TrialId trial) const;

  bool has_failed() const { return closing_ && closing_->error; }

  // Returns why there are no more trials, as a sentence.
  std::string why_none() const;

  // Returns how the run ended, as Driver::run().
  Result<std::string> result() const;

 private:
  struct Closing {
    std::optional<ErrorCode> error;
    std::string sentence;
    std::optional<EndCause> cuts;
  };
  void close_as_known();  // what is proposed
  void close_as_empty();  // the space
  bool is_nothing_waiting() const;
  std::string failures() const;
  std::string stopped() const;  // the message for a user

  const DriverParts& parts_;
  const StudyState& state_;
  const RunningTrials& running_;
  const BudgetGuard& budget_;
  const EqualTrials& equals_;
  const Outbox& outbox_;
  std::optional<Closing> closing_;
  std::optional<double> stop_deadline_s_;  // set once a stop was requested
  bool exhausted_ = false;
  bool target_reached_ = false;
};

}  // namespace detol::inline scheduler

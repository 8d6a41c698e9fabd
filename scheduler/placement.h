#pragma once

// Placement: what a free worker does next. Candidates that need no training are answered or
// refused, the others start on a worker that has the memory, where the budget has time for them.
// placement.cpp says in which order. Not thread-safe.

#include <optional>
#include <vector>

#include "scheduler/budget_guard.h"
#include "scheduler/ending.h"
#include "scheduler/equal_trials.h"
#include "scheduler/outbox.h"
#include "scheduler/proposal_source.h"
#include "scheduler/recorder.h"
#include "scheduler/running_trials.h"
#include "scheduler/trial_memory.h"

namespace detol::inline scheduler {

class Placement {
 public:
  // All outlive this object.
  Placement(const DriverParts& parts, const StudyState& state, RunningTrials& running,
            Listeners listeners, Recorder& recorder, Outbox& outbox);

  // Places trials on the workers that are free, or will be with the commit of their messages, and
  // commits.
  Result<void> place();

  // Requeues the trials that the budget ended, as far as there is time for them now.
  Result<void> continue_what_the_budget_ended();

  // Starts the workers again that were released, where there is more time, or nobody is left.
  void hire_again();

  // Returns whether in the last turn a trial could not start for lack of time.
  bool has_lacked_time() const { return lacked_time_; }

 private:
  // A proposal, and what is recorded of it.
  struct Considered {
    const Trial& trial;
    Decoded candidate;
    event::Asked asked = {};
    std::optional<Fact> network = {};  // if its network is new
  };

  Result<void> answer_waiting();
  Result<bool> fill_free_workers();
  Result<void> grant_wishes(std::vector<Slot>& slots);
  Result<void> resume_waiting(std::vector<Slot>& slots);
  Result<void> promote(std::vector<Slot>& slots);
  Result<bool> ask_round(std::vector<Slot>& slots);
  Result<void> refit();
  Considered decode(const Proposal& proposal) const;
  Result<void> record(Considered& one);
  Result<void> consider(const Proposal& proposal, std::vector<Slot>& slots);
  Result<bool> settle_untrained(Considered& one);
  Result<void> start_or_wait(Considered& one, std::vector<Slot>& slots);
  Result<void> start(TrialId trial, const Slot& slot);
  bool may_release(const std::vector<Slot>& left) const;
  void close_for_memory(const std::vector<Slot>& idle);

  const DriverParts& parts_;
  const StudyState& state_;
  RunningTrials& running_;
  BudgetGuard& budget_;
  EqualTrials& equals_;
  ProposalSource& source_;
  Ending& ending_;
  Recorder& recorder_;
  Outbox& outbox_;
  TrialMemory memory_;
  bool lacked_time_ = false;
  bool has_released_ = false;  // workers that nothing had time for, which may be hired again
};

}  // namespace detol::inline scheduler

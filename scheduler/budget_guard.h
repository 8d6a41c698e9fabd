#pragma once

// BudgetGuard decides what still has time: whether a trial may start, or go on, before a limit of
// the budget is reached. Trials that run were promised what they need until their next reports.
// budget_guard.cpp says how a budget ends a study. Not thread-safe.

#include <optional>

#include "scheduler/next_epochs.h"
#include "scheduler/promises.h"
#include "scheduler/running_trials.h"
#include "scheduler/used_time.h"

namespace detol::inline scheduler {

class BudgetGuard {
 public:
  // All outlive this object. The budget begins as that of the parts.
  BudgetGuard(const DriverParts& parts, const StudyState& state, const RunningTrials& running);

  // Returns what the study has used.
  UsedTime& used() { return used_; }

  // The budget in force, and another in its place.
  const Budget& total() const { return total_; }
  void replace(const Budget& total);

  // Returns how many more trials may start; waiting trials have been counted already.
  int trials_left() const;

  bool is_used_up() const;          // but for the number of trials
  bool counts_device_time() const;  // whether idle workers use it up, too
  bool counts_work() const { return total_.work.has_value(); }

  // Returns whether there is time until the next report of a trial: where it was trained last, on
  // that worker, or, of one that is not recorded yet, with so much work in an epoch.
  bool has_time_for(TrialId trial);
  bool has_time_for(TrialId trial, const Slot& slot);
  bool has_time_for_first(TrialId trial, double epoch_work, const Slot& slot);

  // Returns whether a proposal may have time: if even the smallest network so far had none, or too
  // many in a row had none, the answer is no.
  bool may_fit(TrialId trial, const Slot& slot);

  // Counts a proposal in the row of those without time, and ends this row.
  void lacks_time() { ++without_time_; }
  void had_time() { without_time_ = 0; }

  // Takes the work of one epoch of a trial that was asked for.
  void add(TrialId trial, double epoch_work) { next_.add(trial, epoch_work); }

  // Takes the speed of a report that the state has not taken yet.
  void learn(const event::Reported& reported);

  // Promises a trial that starts or goes on the time until its next report, and takes that back.
  void promise(TrialId trial);
  void withdraw(TrialId trial) { promises_.remove(trial); }

  // Returns how long to wait for the workers, at most `most_s`: not beyond the end of the budget,
  // so that trials are suspended in time.
  double longest_wait_s(std::optional<double> most_s) const;

  // Suspends what runs, as the budget is used up. Returns true once the workers that have not
  // answered are to be given up.
  bool suspend();
  bool has_suspended() const { return suspended_since_s_.has_value(); }

 private:
  bool has_time(const NextEpoch& next);

  const DriverParts& parts_;
  const StudyState& state_;
  const RunningTrials& running_;
  UsedTime used_;
  Budget total_;
  Budget consumption_;  // all limits except the number of trials
  NextEpochs next_;
  Promises promises_;     // of running trials; none without a limit
  int without_time_ = 0;  // proposals in a row that wait for more budget
  std::optional<double> suspended_since_s_;
  double next_reminder_s_ = 0;  // of that suspension
};

}  // namespace detol::inline scheduler

#pragma once

// RunningTrials: what a run knows of the trials that train, beside the study's state: since when
// each is silent, how long it trains in all, which may not be tried again yet, and which programs
// are about to end. It is not in the ledger: the next master begins without it. Not thread-safe.

#include <map>

#include "scheduler/driver_parts.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

class RunningTrials {
 public:
  // Both outlive this object.
  RunningTrials(const DriverParts& parts, const StudyState& state) : parts_(parts), state_(state) {}

  // Notes that a trial starts on a worker; goes on since a time, under a new master; has reported.
  void begins(TrialId trial, int worker);
  void continues(TrialId trial, double since_s) { last_report_s_[trial] = since_s; }
  void reported(TrialId trial);

  bool has_begun(TrialId trial) const { return last_report_s_.contains(trial); }

  // Returns when the trial last reported, or started. REQUIRES: has_begun(trial).
  double last_report_s(TrialId trial) const { return last_report_s_.at(trial); }

  // Returns the epochs of the trial's recipe.
  int full_length(TrialId trial);
  void set_full_length(TrialId trial, int epochs) { full_length_[trial] = epochs; }

  // Lets the next attempt of a trial wait; for the disk longer each time, until a trial reports.
  void back_off(TrialId trial, double seconds);
  void back_off_from_disk(TrialId trial);
  bool is_due(TrialId trial) const;  // its next attempt

  // Asks that a trial be pruned after its next report, and takes that back.
  double prune(TrialId trial);  // returns since when that is asked
  bool is_to_be_pruned(TrialId trial) const { return prunes_.contains(trial); }
  void forget_to_prune(TrialId trial) { prunes_.erase(trial); }

  // Notes that the program of an attempt was told to stop, and that it has ended. It has its grace
  // before it is gone; the run waits for it.
  void leaves(TrialId trial, int attempt);
  void has_left(TrialId trial, int attempt);
  bool is_anybody_leaving() const;

  // Returns whether the trial takes longer than resources.max_trial_duration allows.
  bool is_overlong(TrialId trial) const;

  // Returns whether this attempt of the trial is the one that trains.
  bool is_current(TrialId trial, int attempt) const;

  // Returns whether a trial trains that ends with this run.
  bool is_anything_running_here() const;

 private:
  struct Leaving {
    TrialId trial = 0;
    int attempt = 0;
    double by_s = 0;  // then it is gone
  };

  const DriverParts& parts_;
  const StudyState& state_;
  std::map<TrialId, double> last_report_s_;
  std::map<TrialId, int> full_length_;
  std::map<int, Leaving> leaving_;          // by worker; another trial there takes its place
  std::map<TrialId, double> prunes_;        // to be pruned on request, since when
  std::map<TrialId, double> not_before_s_;  // the next attempt
  double disk_back_off_s_ = 0;              // grows while checkpoints cannot be written
};

}  // namespace detol::inline scheduler

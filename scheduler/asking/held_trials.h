#pragma once

// HeldTrials: the trials that callers have, since they asked for them. Not thread-safe.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "scheduler/asking/caller_names.h"
#include "scheduler/pool.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

// Why a trial is given back whose caller never got the answer that it has it.
inline constexpr const char* kAnswerLost = "its caller has never heard of it";

struct HeldTrial {
  int attempt = 0;
  std::string caller;
  bool is_adopted = false;     // an earlier process gave it
  double since_s = 0;          // when it was given, or reported last
  bool counts_from_0 = false;  // its caller's first step was 0
};

class HeldTrials {
 public:
  explicit HeldTrials(Clock& clock) : clock_(clock), held_at_s_(clock.now_s()) {}

  // Takes over from a study's events what callers still have; of this process, those of `own`.
  void adopt(const StudyState& state, std::span<const Event> events, std::span<const TrialId> own);

  void give(TrialId trial, int attempt, const std::string& caller);

  // Returns a trial that a caller has, if it names the attempt or none (0); nullptr if the trial is
  // over, or if the caller knows that its attempt is: a paused trial may have been resumed by
  // another. Errors (kUsage): who has the trial instead.
  Result<HeldTrial*> find(const TrialRecord& record, int attempt);

  void drop(TrialId trial);
  void drop(TrialId trial, int attempt);

  // As drop(), once its caller is told that the trial has ended.
  void end(TrialId trial);
  bool was_ended(TrialId trial) const { return ended_.contains(trial); }

  // Take away the trials of callers whose process is gone; those that a caller got from an earlier
  // process and does not name, as their answers were lost.
  std::vector<Lost> take_from_the_gone();
  std::vector<Lost> take_from(const std::string& caller, std::span<const TrialId> but);

  bool is_empty() const { return held_.empty(); }
  int count() const { return static_cast<int>(held_.size()); }
  std::vector<Claim> claims() const;
  std::vector<Claim> own() const;  // of this process
  bool is_of_another_process(TrialId trial) const;

  // Returns the seconds for which trials were held, summed over the trials.
  double held_s();

 private:
  Clock& clock_;
  const std::string self_ = this_caller();
  std::map<TrialId, HeldTrial> held_;
  std::map<TrialId, int> ended_;  // the latest attempt whose caller was told that it ended
  double held_s_ = 0;             // until held_at_s_
  double held_at_s_;
};

}  // namespace detol::inline scheduler

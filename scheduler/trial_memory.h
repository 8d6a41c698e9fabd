#pragma once

// TrialMemory decides which free worker has the memory for a trial. Workers may be unequal: a trial
// takes the one with the least memory that is enough, and otherwise waits until one that has enough
// is free. A candidate that needs more than any worker of the run has had is refused. Not
// thread-safe.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/driver_parts.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

class TrialMemory {
 public:
  using Slots = std::vector<Slot>;

  // Both outlive this object.
  TrialMemory(const DriverParts& parts, const StudyState& state) : parts_(parts), state_(state) {}

  // Returns why a candidate is not trained: the study forbids it, or no worker of this run has had
  // the memory.
  std::optional<StudyConfig::Refused> refusal_of(TrialId trial, const Candidate& candidate);

  // Returns the free worker that is to take the trial: the last of `slots` that has the memory;
  // end() if none has. REQUIRES: the slots with the least memory are last.
  Slots::iterator slot_for(TrialId trial, Slots& slots);

  // Counts the trials that no free worker has the memory for.
  void count_again() { waiting_ = 0; }
  void waits() { ++waiting_; }
  int waiting() const { return waiting_; }

  // Returns that they wait for a worker with more memory, as a sentence, if every worker is idle.
  std::optional<std::string> why_all_wait(const Slots& idle) const;

 private:
  double foreseen_bytes(TrialId trial, const Candidate& candidate);
  bool has_memory_for(TrialId trial, const Slot& slot);

  const DriverParts& parts_;
  const StudyState& state_;
  std::map<TrialId, double> bytes_;  // foreseen of each trial, where that was asked for
  int waiting_ = 0;
};

}  // namespace detol::inline scheduler

#pragma once

// EqualTrials decides what need not be trained, as it is known or will be soon. A candidate whose
// outcome is known is answered from it. One that equals a trial which still runs or waits becomes a
// WAITING trial, that is answered when the other one ends:
//
//   trial 7 runs; proposal 9 is the same candidate: asked, WAITING; its worker gets proposal 10
//   told 7 -> told 9, "same as trial 7"; or 7 was lost for good -> 9 starts
//
// Who asked for `repeats` gets them first. A candidate that a caller brought waits for no other.
// Not thread-safe.

#include <string>

#include "encodings/study/study_config.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

class EqualTrials {
 public:
  // Both outlive this object.
  EqualTrials(const StudyConfig& config, const StudyState& state)
      : config_(config), state_(state), candidates_(config.space.cardinality()) {}

  // Returns true if a candidate is to be measured again, although it was, or is being, measured.
  bool may_repeat(const std::string& identity) const;

  // Returns true if a trial that never started is not to start before an earlier one of the same
  // identity has ended.
  bool waits_for_equal(TrialId trial) const;

  // Returns true if every candidate of the space was told, so that there is nothing to ask for.
  bool is_space_known() const;

  // Returns true if the searcher has nothing to propose that is not known, or will be without it.
  bool is_nothing_new() const;

  // Counts a proposal in the row of those that wait for an equal trial, and ends this row.
  void found_equal() { ++equal_in_row_; }
  void found_new() { equal_in_row_ = 0; }

  double candidates() const { return candidates_; }  // of the space

 private:
  const StudyConfig& config_;
  const StudyState& state_;
  const double candidates_;
  int equal_in_row_ = 0;
};

}  // namespace detol::inline scheduler

#pragma once

// TrialRank: which of a study's trials is the best by its value, decided here for all who show or
// keep one; `ORDER BY` of studies/trial_rows.cpp says the same in SQL. A final choice may name
// another trial.

#include <tuple>

#include "encodings/space/trial.h"

namespace detol::inline knowledge {

struct TrialRank {
  double value = 0;          // of the first objective
  bool is_complete = false;  // COMPLETE: of equals it comes first
  TrialId trial = 0;         // of these the first
};

// Returns whether `a` comes before `b`; a NaN comes last.
inline bool is_before(Direction direction, const TrialRank& a, const TrialRank& b) {
  if (is_better(direction, a.value, b.value)) return true;
  if (is_better(direction, b.value, a.value)) return false;
  return std::tuple(!a.is_complete, a.trial) < std::tuple(!b.is_complete, b.trial);
}

}  // namespace detol::inline knowledge

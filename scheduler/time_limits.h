#pragma once

// How long one process waits for another before it takes it for dead.

#include <algorithm>

#include "core/fault.h"

namespace detol::inline scheduler {

// Seconds within which a supervisor starts another master.
inline constexpr double kRestartS = 5;

// Returns the seconds after which a training that takes no step hangs: a minute, but 20 times its
// slowest step so far if that is longer.
inline double hangs_after_s(double slowest_step_s) {
  constexpr double kHungS = 60, kHungSteps = 20;
  return std::max(patience(kHungS), kHungSteps * slowest_step_s);
}

}  // namespace detol::inline scheduler

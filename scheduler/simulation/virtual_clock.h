#pragma once

// VirtualClock: the time of a simulated study. It stands still until somebody moves it: the pool to
// the next event, the ledger and the searcher by what a commit and a proposal cost. Not
// thread-safe.

#include "core/clock.h"

namespace detol::inline scheduler {

class VirtualClock final : public Clock {
 public:
  static constexpr double kStartS = 1e9;  // wall time at now == 0: 9 September 2001

  double now_s() override { return now; }
  double wall_s() override { return kStartS + now; }
  double now = 0;  // seconds
};

}  // namespace detol::inline scheduler

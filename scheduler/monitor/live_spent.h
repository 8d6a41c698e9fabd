#pragma once

// LiveSpent: what a study that another process runs has spent by now. Its accounting is read from
// the database and some seconds old; since then its wall time went on, and the device time of the
// trials that run. Not thread-safe.

#include "scheduler/budget.h"

namespace detol::inline scheduler {

class LiveSpent {
 public:
  // Takes the accounting that was read at `now_s`. The same accounting read again is as old as
  // before, whatever events came with it.
  void account(const Spent& spent, double now_s) {
    if (spent.wall_s != last_.wall_s) since_s_ = now_s;
    last_ = spent;
  }

  // Returns what is spent at `now_s` if `running` devices were busy since the accounting.
  Spent at(double now_s, int running) const {
    Spent spent = last_;
    spent.wall_s += now_s - since_s_;
    spent.device_s += (now_s - since_s_) * running;
    return spent;
  }

 private:
  Spent last_;
  double since_s_ = 0;
};

}  // namespace detol::inline scheduler

#pragma once

// Promises: what running trials need until their next reports, in work and in device time, and the
// sums of it. Time passes: what a trial has trained since its last report it needs no more. O(log
// n) for n running trials, however many reports there are. Not thread-safe.

#include <set>
#include <unordered_map>
#include <utility>

#include "encodings/space/trial.h"
#include "scheduler/budget.h"

namespace detol::inline scheduler {

struct Promise {
  double work = 0;
  double device_s = 0;  // needed at since_s; 0: unknown
  double since_s = 0;   // of the clock that others() is asked by
  int group_size = 1;   // devices that train it
};

class Promises {
 public:
  // Replaces what the trial was promised before.
  void set(TrialId trial, const Promise& promise);

  // Changes nothing about a trial that was promised nothing.
  void remove(TrialId trial);

  // Returns the work and the device seconds that all other trials still need.
  // REQUIRES: now_s does not fall from call to call.
  Spent to_others(TrialId trial, double now_s);

 private:
  static double end_s(const Promise& promise) {
    return promise.since_s + promise.device_s / promise.group_size;
  }
  void leave(TrialId trial, const Promise& promise);

  std::unordered_map<TrialId, Promise> promises_;
  std::set<std::pair<double, TrialId>> ends_;  // of those that still need device time
  double work_ = 0;                            // sums over promises_
  double devices_ = 0;                         // sums over ends_
  double device_ends_ = 0;                     // of end x devices
};

}  // namespace detol::inline scheduler

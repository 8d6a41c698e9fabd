#pragma once

// EpochForecast predicts the time until a trial's next report, one epoch or a part of the first,
// from the reports so far: its work times the seconds per work of its own last report, or, before
// its first, of the trials whose reports are most like it in work. Small networks reach fewer FLOPs
// a second than large ones, so one rate for all would not do. Time is device time: of g ranks, g
// times the wall time. Not thread-safe.

#include <cstddef>
#include <map>
#include <optional>

#include "encodings/space/trial.h"

namespace detol::inline scheduler {

class EpochForecast {
 public:
  static constexpr std::size_t kMostCompared = 256;

  // Takes a report: the work (forward FLOPs x images; 0: unknown) and the device seconds since the
  // one before.
  void learn(TrialId trial, double work, double device_s);

  bool is_empty() const { return last_.empty(); }

  // Returns device seconds; nullopt before any report. O(log n) for n trials: a trial without a
  // report is compared with the latest kMostCompared that have one.
  std::optional<double> device_s(TrialId trial, double work) const;

 private:
  struct Epoch {
    double work = 0;
    double device_s = 0;
  };
  std::map<TrialId, Epoch> last_;  // of each trial
};

}  // namespace detol::inline scheduler

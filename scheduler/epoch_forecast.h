#pragma once

// EpochForecast predicts the time of a trial's next epoch from the epochs that were reported: as
// long as its last one, or, before its first, the epoch's work times the seconds per work of the
// trials whose epochs are most like it in work. Small networks reach fewer FLOPs a second than
// large ones, so one rate for all would not do. Time is device time: of g ranks, g times the wall
// time. Not thread-safe.

#include <map>
#include <optional>

#include "encodings/space/trial.h"

namespace detol::inline scheduler {

class EpochForecast {
 public:
  // Takes a reported epoch: its work (forward FLOPs x images; 0: unknown) and its device seconds.
  void learn(TrialId trial, double work, double device_s);

  // Returns device seconds; nullopt before any report. O(n log n) for n trials.
  std::optional<double> device_s(TrialId trial, double work) const;

 private:
  struct Epoch {
    double work = 0;
    double device_s = 0;
  };
  std::map<TrialId, Epoch> last_;  // of each trial
};

}  // namespace detol::inline scheduler

#pragma once

// EpochForecast predicts the time until a trial's next report, one epoch or a part of the first,
// from the reports so far: its work times the seconds per work of its own last report, or, before
// its first, of the trials whose reports are most like it in work. Small networks reach fewer FLOPs
// a second than large ones, so one rate for all would not do. Time is device time: of g ranks, g
// times the wall time.
//
// Machines may be unequal: each has a factor, the geometric mean of the ratios of what its reports
// took and what was forecast, drawn towards 1 while they are few. Not thread-safe.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "encodings/space/trial.h"

namespace detol::inline scheduler {

class EpochForecast {
 public:
  static constexpr std::size_t kMostCompared = 256;

  // Takes a report: the work (forward FLOPs x images; 0: unknown) and the device seconds since the
  // one before, on a worker of that name ("node7/3": of the machine node7).
  void learn(TrialId trial, double work, double device_s, std::string_view worker = {});

  bool is_empty() const { return last_.empty(); }

  // Returns device seconds; nullopt before any report. O(log n) for n trials: a trial without a
  // report is compared with the latest kMostCompared that have one.
  std::optional<double> device_s(TrialId trial, double work, std::string_view worker = {}) const;

 private:
  struct Epoch {
    double work = 0;
    double device_s = 0;  // divided by the machine's factor
  };
  struct Ratios {
    double sum_of_logs = 0;
    double count = 0;
  };
  std::optional<double> without_factor(TrialId trial, double work) const;
  double factor_of(std::string_view worker) const;

  std::map<TrialId, Epoch> last_;                      // of each trial
  std::map<std::string, Ratios, std::less<>> ratios_;  // of each machine
};

}  // namespace detol::inline scheduler

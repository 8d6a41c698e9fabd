#pragma once

// NextEpochs foresees what trials need until their next reports: of an epoch, or of a part of the
// first. The work follows from the trial's reports, or, before its first, from its network; the
// time from the speed of the reports so far (epoch_forecast.h). Not thread-safe.

#include <map>
#include <optional>
#include <string>

#include "scheduler/driver_parts.h"
#include "scheduler/epoch_forecast.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

struct NextEpoch {
  TrialId trial = 0;
  double work = 0;    // 0: unknown
  double done_s = 0;  // device seconds spent on it by an attempt that was suspended
  int group_size = 1;
  std::string worker = {};
};

class NextEpochs {
 public:
  // Both outlive this object.
  NextEpochs(const DriverParts& parts, const StudyState& state) : parts_(parts), state_(state) {}

  // Takes the speed of a report that the state has not taken yet. Returns true if it is the first.
  bool learn(const event::Reported& reported);

  // Takes the work of one epoch of a trial that was asked for here.
  void add(TrialId trial, double epoch_work);

  // Returns what a trial needs that was asked for: where it was trained last, or on that worker.
  NextEpoch of(TrialId trial) const;
  NextEpoch of(TrialId trial, const Slot& slot) const;

  // Returns what a trial needs until its first report, if one of its epochs is so much work; or if
  // its network is the smallest so far.
  NextEpoch first_of(TrialId trial, double epoch_work, const Slot& slot) const;
  NextEpoch smallest_of(TrialId trial, const Slot& slot) const;

  // Returns the device time that it takes; nullopt if there is no forecast.
  std::optional<double> device_s(const NextEpoch& next) const;

 private:
  double epochs_to_report(double epochs) const;
  double work_of(TrialId trial) const;

  const DriverParts& parts_;
  const StudyState& state_;
  EpochForecast forecast_;
  std::map<TrialId, double> epoch_work_;
  double least_epoch_work_ = 0;  // 0: unknown
};

}  // namespace detol::inline scheduler

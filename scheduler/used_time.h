#pragma once

// UsedTime: the wall time and the device time that a study has used, over all its masters. Not
// thread-safe.

#include "scheduler/driver_parts.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

class UsedTime {
 public:
  // Both outlive this object.
  UsedTime(const DriverParts& parts, const StudyState& state) : parts_(parts), state_(state) {}

  // Takes what earlier masters have used from the state. Called after the replay.
  void replayed() { before_ = state_.spent(); }

  // Sets the beginning of this run, or of the time that the ledger does not count yet.
  void begin() { began_s_ = parts_.counted_until_s.value_or(parts_.clock.now_s()); }
  double began_s() const { return began_s_; }

  // Reads the device time that the workers hold. spent() is as of the last call.
  void read_devices() { held_s_ = parts_.pool.held_s(); }

  Spent spent() const {
    Spent spent = state_.spent();
    spent.wall_s = before_.wall_s + parts_.clock.now_s() - began_s_;
    spent.device_s = before_.device_s + held_s_;
    return spent;
  }

 private:
  const DriverParts& parts_;
  const StudyState& state_;
  Spent before_;
  double began_s_ = 0;
  double held_s_ = 0;  // of this run
};

}  // namespace detol::inline scheduler

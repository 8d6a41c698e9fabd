#pragma once

// ScopedTimer adds the seconds of its scope to a total. Private to this folder.

#include "core/clock.h"

namespace detol::inline trainer {

class ScopedTimer {
 public:
  explicit ScopedTimer(double& total) : total_(total) {}
  ~ScopedTimer() { total_ += system_clock().now_s() - start_s_; }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& total_;
  const double start_s_ = system_clock().now_s();
};

}  // namespace detol::inline trainer

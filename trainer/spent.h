#pragma once

// Spent: adds the seconds of its life to a total. Private to this folder.

#include "core/clock.h"

namespace detol {

class Spent {
 public:
  explicit Spent(double& total) : total_(total) {}
  ~Spent() { total_ += system_clock().now_s() - start_s_; }
  Spent(const Spent&) = delete;
  Spent& operator=(const Spent&) = delete;

 private:
  double& total_;
  const double start_s_ = system_clock().now_s();
};

}  // namespace detol

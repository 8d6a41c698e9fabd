#include "core/clock.h"

#include <time.h>

#include <chrono>

#include "core/shared_clock.h"

namespace detol::inline core {
namespace {

class SystemClock final : public Clock {
 public:
  double now_s() override {
    return seconds(std::chrono::steady_clock::now().time_since_epoch()) - left_out();
  }
  double wall_s() override { return seconds(std::chrono::system_clock::now().time_since_epoch()); }

 private:
  static double seconds(std::chrono::nanoseconds t) {
    return std::chrono::duration<double>(t).count();
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace detol::inline core

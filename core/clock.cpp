#include "core/clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "core/descriptor.h"
#include "core/suspension.h"

namespace detol::inline core {
namespace {

using SharedSeconds = std::atomic<double>;
static_assert(SharedSeconds::is_always_lock_free, "several processes have it");

SharedSeconds g_own_left_out = 0;
SharedSeconds* g_left_out = &g_own_left_out;

class SystemClock final : public Clock {
 public:
  double now_s() override {
    return seconds(std::chrono::steady_clock::now().time_since_epoch()) - *g_left_out;
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

bool share_clock(const std::filesystem::path& file) {
  const Descriptor descriptor(
      ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (descriptor.get() < 0 || ::ftruncate(descriptor.get(), sizeof(SharedSeconds)) != 0)
    return false;
  void* memory = ::mmap(nullptr, sizeof(SharedSeconds), PROT_READ | PROT_WRITE, MAP_SHARED,
                        descriptor.get(), 0);
  if (memory == MAP_FAILED) return false;
  g_left_out = static_cast<SharedSeconds*>(memory);  // all bits zero are 0
  return true;
}

void leave_out(double seconds) {
  g_left_out->fetch_add(seconds);
}

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace detol::inline core

#include "core/shared_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "core/descriptor.h"

namespace detol::inline core {
namespace {

using SharedSeconds = std::atomic<double>;
static_assert(SharedSeconds::is_always_lock_free, "several processes have it");

SharedSeconds g_own_left_out = 0;
SharedSeconds* g_left_out = &g_own_left_out;

}  // namespace

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

double left_out() {
  return *g_left_out;
}

}  // namespace detol::inline core

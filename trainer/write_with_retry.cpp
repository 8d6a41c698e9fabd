#include "trainer/write_with_retry.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/file.h"
#include "core/log.h"

namespace detol::inline trainer {
namespace {

constexpr double kFirstWaitS = 0.2;  // doubled after each try
constexpr double kLongestWaitS = 2;

}  // namespace

Result<void> write_with_retry(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                              const std::function<bool()>& may_continue) {
  auto kept = write_checkpoint(folder, checkpoint);
  if (!kept && may_succeed_later(kept.error()))
    log_warning("{}; the training waits until there is space", kept.error().message);
  for (double wait_s = kFirstWaitS; !kept && may_succeed_later(kept.error()); wait_s *= 2) {
    if (!may_continue()) return kept;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(wait_s, kLongestWaitS)));
    kept = write_checkpoint(folder, checkpoint);
  }
  return kept;
}

}  // namespace detol::inline trainer

#include "scheduler/asking/posted_calls.h"

#include <chrono>

namespace detol::inline scheduler {

void PostedCalls::post(Call call) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(call));
}

bool PostedCalls::has_any() {
  const std::lock_guard lock(mutex_);
  return !posted_.empty();
}

void PostedCalls::announce() {
  {
    const std::lock_guard lock(mutex_);
    is_announced_ = true;
  }
  announced_.notify_one();
  if (wake_) wake_();
}

void PostedCalls::wait(double at_most_s) {
  std::unique_lock lock(mutex_);
  announced_.wait_for(lock, std::chrono::duration<double>(at_most_s),
                      [this] { return is_announced_; });
}

void PostedCalls::run() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(posted_);
    is_announced_ = false;
  }
  for (const Call& call : calls) call();
}

}  // namespace detol::inline scheduler

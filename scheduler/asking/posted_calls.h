#pragma once

// PostedCalls: functions that any thread posts, and the driver's thread runs.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace detol::inline scheduler {

class PostedCalls {
 public:
  using Call = std::function<void()>;

  // `wake` is called from any thread to announce calls; null: who runs them waits with wait().
  explicit PostedCalls(Call wake) : wake_(std::move(wake)) {}

  // From any thread. A posted call may wait until the next announce().
  void post(Call call);
  void announce();
  bool has_any();
  bool are_announced_elsewhere() const { return wake_ != nullptr; }

  // Waits until calls are announced.
  void wait(double at_most_s);

  // Runs what was posted. On the driver's thread.
  void run();

 private:
  const Call wake_;
  std::mutex mutex_;  // of the rest
  std::condition_variable announced_;
  std::vector<Call> posted_;
  bool is_announced_ = false;
};

}  // namespace detol::inline scheduler

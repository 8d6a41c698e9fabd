#pragma once

// SimulatedTime: a clock that threads move by what they say their work takes. One of them runs at a
// time, the one that is due first, and of several the one with the least number, so that a study on
// many threads is the same each time and takes no time. Thread-safe.

#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/clock.h"

namespace detol::inline scheduler {

class SimulatedTime final : public Clock {
 public:
  double now_s() override;
  double wall_s() override;  // from 9 September 2001 on

  // So many threads will run from now on, numbered from 0. Each calls start() first and end() last.
  void expect(int threads);
  void start(int thread);
  void end(int thread);

  // Lets the time pass until this thread goes on.
  void spend(int thread, double seconds);

  // Waits until another thread has called wake().
  void wait(int thread);
  void wake();

 private:
  struct Thread {
    double due_s = 0;
    bool is_out = false;    // it waits, or has ended
    bool may_wake = false;  // it waits
  };
  void pass(std::unique_lock<std::mutex>& lock, int thread);
  bool is_next(int thread) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  double now_ = 0;
  std::vector<Thread> threads_;
  std::size_t started_ = 0;  // threads; before all have, none runs
  bool is_running_ = false;  // one of them
};

}  // namespace detol::inline scheduler

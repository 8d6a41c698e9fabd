#include "scheduler/asking/simulated_time.h"

#include <algorithm>

namespace detol::inline scheduler {
namespace {

constexpr double kStartS = 1e9;

}  // namespace

double SimulatedTime::now_s() {
  const std::lock_guard lock(mutex_);
  return now_;
}

double SimulatedTime::wall_s() {
  return kStartS + now_s();
}

void SimulatedTime::expect(int threads) {
  const std::lock_guard lock(mutex_);
  threads_.assign(static_cast<std::size_t>(threads), Thread{.due_s = now_});
  started_ = 0;
}

void SimulatedTime::start(int thread) {
  std::unique_lock lock(mutex_);
  ++started_;
  pass(lock, thread);
}

void SimulatedTime::end(int thread) {
  const std::lock_guard lock(mutex_);
  threads_[static_cast<std::size_t>(thread)] = {.is_out = true};
  is_running_ = false;
  changed_.notify_all();
}

void SimulatedTime::spend(int thread, double seconds) {
  std::unique_lock lock(mutex_);
  threads_[static_cast<std::size_t>(thread)].due_s = now_ + std::max(0.0, seconds);
  is_running_ = false;
  pass(lock, thread);
}

void SimulatedTime::wait(int thread) {
  std::unique_lock lock(mutex_);
  threads_[static_cast<std::size_t>(thread)] = {.is_out = true, .may_wake = true};
  is_running_ = false;
  pass(lock, thread);
}

void SimulatedTime::wake() {
  const std::lock_guard lock(mutex_);
  for (Thread& thread : threads_) {
    if (thread.may_wake) thread = {.due_s = now_};
  }
}

// Waits until this thread is the next, and lets it run.
void SimulatedTime::pass(std::unique_lock<std::mutex>& lock, int thread) {
  changed_.notify_all();
  changed_.wait(lock, [&] { return is_next(thread); });
  is_running_ = true;
  now_ = std::max(now_, threads_[static_cast<std::size_t>(thread)].due_s);
}

bool SimulatedTime::is_next(int thread) const {
  if (is_running_ || started_ < threads_.size()) return false;
  const Thread& own = threads_[static_cast<std::size_t>(thread)];
  if (own.is_out) return false;
  const auto is_before = [&](const Thread& other) {
    return !other.is_out &&
           (other.due_s < own.due_s || (other.due_s == own.due_s && &other < &own));
  };
  return std::ranges::none_of(threads_, is_before);
}

}  // namespace detol::inline scheduler

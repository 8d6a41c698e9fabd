#pragma once

// MeasuredPool: counts the messages between a driver and a pool, and measures the real time from
// wait() returning a report to its answer. Not thread-safe.

#include <array>
#include <cstdint>

#include "core/clock.h"
#include "scheduler/pool.h"

namespace detol::inline scheduler {

// Histogram counts times from a microsecond to some minutes, to 2 %.
class Histogram {
 public:
  void add(double seconds);
  double quantile(double share) const;  // seconds; 0: nothing was added

 private:
  static constexpr std::size_t kBins = 1024;
  std::array<std::int64_t, kBins> counts_{};
  std::int64_t count_ = 0;
};

class MeasuredPool final : public Pool {
 public:
  explicit MeasuredPool(Pool& pool) : pool_(pool) {}

  std::vector<Claim> claims() override { return pool_.claims(); }
  std::vector<Slot> free() override { return pool_.free(); }
  std::optional<Slot> slot_after(TrialId trial, int attempt) override {
    return pool_.slot_after(trial, attempt);
  }
  void start(int worker, const message::Train& train) override {
    ++messages_;
    pool_.start(worker, train);
  }
  void acknowledge(const message::ReportAck& ack) override {
    ++messages_;
    decisions_.add(system_clock().now_s() - turn_s_);
    pool_.acknowledge(ack);
  }
  void acknowledge(const message::EndAck& ack) override {
    ++messages_;
    pool_.acknowledge(ack);
  }
  void broadcast(const AlgorithmChoices& choices) override { pool_.broadcast(choices); }
  void drop(TrialId trial) override { pool_.drop(trial); }
  void suspend() override { pool_.suspend(); }
  void retire() override { pool_.retire(); }
  void hire() override { pool_.hire(); }
  std::vector<PoolEvent> wait(double at_most_s) override;
  void wake() override { pool_.wake(); }
  double held_s() override { return pool_.held_s(); }
  int devices() override { return pool_.devices(); }
  int workers() override { return pool_.workers(); }
  double most_memory() override { return pool_.most_memory(); }

  std::int64_t messages() const { return messages_; }
  const Histogram& decisions() const { return decisions_; }
  double workers_s() const { return workers_s_; }  // processor seconds inside wait()

 private:
  Pool& pool_;
  std::int64_t messages_ = 0;
  Histogram decisions_;
  double turn_s_ = 0;
  double workers_s_ = 0;
};

}  // namespace detol::inline scheduler

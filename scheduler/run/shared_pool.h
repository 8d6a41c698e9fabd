#pragma once

// SharedPool: the workers of a run and its callers as one pool of the driver.

#include "scheduler/asking/callers.h"
#include "scheduler/observer.h"
#include "scheduler/pool.h"

namespace detol::inline scheduler {

// Calls reach `callers` while `workers` waits. Both outlive this object.
class SharedPool final : public Pool {
 public:
  SharedPool(Pool& workers, Callers& callers) : workers_(workers), callers_(callers) {}

  std::vector<Claim> claims() override;
  std::vector<Slot> free() override;
  std::optional<Slot> slot_after(TrialId trial, int attempt) override {
    return workers_.slot_after(trial, attempt);
  }
  void start(int worker, const message::Train& train) override;
  void decline(int worker, TrialId trial) override { callers_.decline(worker, trial); }
  void acknowledge(const message::ReportAck& ack) override;
  void acknowledge(const message::EndAck& ack) override;
  void broadcast(const AlgorithmChoices& choices) override { workers_.broadcast(choices); }
  void drop(TrialId trial) override;
  void suspend() override;
  void retire() override { workers_.retire(); }
  void hire() override { workers_.hire(); }
  bool outlives(TrialId trial) const override { return callers_.outlives(trial); }
  std::vector<PoolEvent> wait(double at_most_s) override;
  void wake() override { workers_.wake(); }
  double held_s() override { return workers_.held_s() + callers_.held_s(); }
  int devices() override { return workers_.devices() + callers_.devices(); }
  int workers() override;
  double most_memory() override;

 private:
  Pool& workers_;
  Callers& callers_;
};

}  // namespace detol::inline scheduler

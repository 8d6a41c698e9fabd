#pragma once

// SimulatedPool: workers in virtual time. start() measures a trial at once, by the evaluator of a
// worker process; wait() returns the result when a worker would have finished the trial's work.

#include <optional>
#include <vector>

#include "core/clock.h"
#include "encodings/study/study_config.h"
#include "scheduler/pool.h"
#include "trainer/evaluator.h"

namespace detol {

class VirtualClock final : public Clock {
 public:
  double now_s() override { return now; }
  double wall_s() override { return now; }
  double now = 0;
};

// For evaluators of one epoch per trial (tables, functions).
class SimulatedPool final : public Pool {
 public:
  // The referenced arguments outlive the pool.
  SimulatedPool(int workers, const StudyConfig& config, Evaluator& evaluator, VirtualClock& clock)
      : config_(config),
        evaluator_(evaluator),
        clock_(clock),
        workers_(static_cast<std::size_t>(workers)) {}

  std::vector<Claim> claims() override { return {}; }
  std::vector<Slot> free() override;
  void start(int worker, const message::Train& train) override;
  void acknowledge(const message::ReportAck& answer) override;
  void acknowledge(const message::EndAck& ack) override;
  void drop(TrialId) override {}
  void suspend() override {}
  void retire() override {}
  std::vector<PoolEvent> wait(double at_most_s) override;
  double held_s() override { return clock_.now * static_cast<double>(workers_.size()); }
  int devices() override { return static_cast<int>(workers_.size()); }

 private:
  struct Training {
    TrialId trial = 0;
    double due_s = 0;
    PoolEvent result;
    bool has_said = false;  // wait() returned the result
  };

  PoolEvent evaluated(const message::Train& train);
  void release(TrialId trial);

  const StudyConfig& config_;
  Evaluator& evaluator_;
  VirtualClock& clock_;
  std::vector<std::optional<Training>> workers_;
};

}  // namespace detol

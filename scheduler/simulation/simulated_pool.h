#pragma once

// SimulatedPool: workers in virtual time. A model (training_model.h) says what a worker reports and
// when; the pool does what worker processes do with the driver's answers. Events of equal times
// come in the order of their workers. O(log n) per event for n workers, O(1) per free worker.
// Not thread-safe.
//
// After suspend() a worker ends inside an epoch, and a later attempt of that trial trains the rest.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/pool.h"
#include "scheduler/simulation/training_model.h"
#include "scheduler/simulation/virtual_clock.h"

namespace detol::inline scheduler {

struct SimulatedPoolSettings {
  int workers = 1;
  int group_size = 1;
  double restart_s = 0;  // from the loss of a worker until another is ready in its place
  // Events that wait() returns at once. A master process receives all that have arrived.
  std::size_t most_events = std::numeric_limits<std::size_t>::max();
  std::vector<double> memory = {};  // bytes of each worker; those beyond have no limit
};

class SimulatedPool final : public Pool {
 public:
  // REQUIRES: model and clock outlive the pool.
  SimulatedPool(const SimulatedPoolSettings& settings, TrainingModel& model, VirtualClock& clock);

  std::vector<Claim> claims() override { return {}; }
  std::vector<Slot> free() override;
  std::optional<Slot> slot_after(TrialId trial, int attempt) override;
  void start(int number, const message::Train& train) override;
  void acknowledge(const message::ReportAck& ack) override;
  void acknowledge(const message::EndAck& ack) override;
  void drop(TrialId trial) override;
  void suspend() override;
  void retire() override;
  void hire() override;
  std::vector<PoolEvent> wait(double at_most_s) override;
  double held_s() override;
  int devices() override { return live_ * settings_.group_size; }
  int workers() override { return live_; }
  double most_memory() override;

  // Returns the device seconds that were spent on training, of those that workers held.
  double busy_s() const { return busy_s_ * settings_.group_size; }

  // The seconds left of the interval in which a trial was suspended: what checkpoints keep for the
  // pool of a later run.
  std::map<TrialId, double>& left_s() { return left_s_; }

 private:
  // Worker trains if it has a training, and says something at due_s if it is expected to.
  struct Worker {
    std::unique_ptr<SimulatedTraining> training;
    TrialId trial = 0;
    int attempt = 0;
    double epochs = 0;      // acknowledged
    double interval_s = 0;  // of training until it says something
    double begun_s = 0;     // when it began, or resumed, that training
    double due_s = 0;
    Verdict verdict = Verdict::kContinue;  // unless it continues, it ends when it is due
    std::uint64_t expected = 0;            // number of what it says at due_s; 0: nothing
  };
  struct Due {
    double due_s;
    int worker;
    std::uint64_t number;
    bool operator>(const Due& other) const {
      return due_s != other.due_s ? due_s > other.due_s : worker > other.worker;
    }
  };

  double memory_of(int worker) const;
  Slot slot_of(int worker) const;
  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  void train_on(int worker, double seconds);
  void expect(int worker, double due_s);
  Worker* training(TrialId trial, int attempt, int& number);
  void stop_training(Worker& worker);
  void release(int number);
  void lose(int number);
  std::optional<PoolEvent> happen(int number);
  void count_live(int change);
  bool drop_outdated();

  const SimulatedPoolSettings settings_;
  TrainingModel& model_;
  VirtualClock& clock_;
  std::vector<Worker> workers_;
  std::set<int> free_;
  std::set<int> retired_;
  std::map<TrialId, int> worker_of_;
  std::map<TrialId, double> left_s_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> queue_;
  std::uint64_t numbers_ = 0;
  int live_ = 0;
  double held_s_ = 0;  // worker seconds until counted_s_
  double counted_s_ = 0;
  double busy_s_ = 0;  // worker seconds
};

}  // namespace detol::inline scheduler

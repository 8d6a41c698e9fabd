#pragma once

// TrainingModel: what a simulated worker says of a trial, and after how many seconds. Its
// implementations look curves up, compute or invent them (training_models.h).

#include <memory>
#include <optional>

#include "scheduler/pool.h"

namespace detol::inline scheduler {

// SimulatedTraining: one attempt of one trial on a simulated worker.
class SimulatedTraining {
 public:
  virtual ~SimulatedTraining() = default;

  // Returns the seconds of training from the report after `epochs` (0: from the beginning) to what
  // comes next.
  virtual double seconds_after(double epochs) = 0;

  // Returns what the worker says then: a report, an end, or its loss; nullopt: nothing ever again.
  // `train_s` is what seconds_after() returned.
  virtual std::optional<PoolEvent> event_after(double epochs, double train_s) = 0;
};

class TrainingModel {
 public:
  virtual ~TrainingModel() = default;

  virtual std::unique_ptr<SimulatedTraining> begin(const message::Train& train) = 0;
};

}  // namespace detol::inline scheduler

#pragma once

// The checkpoint from which a training begins.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/result.h"
#include "trainer/checkpoint.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// What a checkpoint must be made for, so that the training continues it.
struct ResumeConditions {
  std::uint64_t job_hash = 0;
  std::int64_t steps_per_epoch = 0;
  std::size_t early_reports = 0;  // in the first epoch
  bool ranks_epochs = false;      // it must have the weights of the best report
};

struct StartingCheckpoint {
  Checkpoint checkpoint;
  std::optional<double> inherited = {};  // kInheritedMetric, of a job with a parent
};

// Returns the furthest checkpoint of the job, or one of initial weights if there is none that the
// training can continue; one of other settings is set aside. Initial weights are those that the
// job's parent gives, if its checkpoint can be read; else, with a warning, initial_weights().
// Errors (kStorage): the folder cannot be read or changed.
Result<StartingCheckpoint> starting_checkpoint(const Job& job, const ResumeConditions& conditions);

}  // namespace detol::inline trainer

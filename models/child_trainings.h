#pragma once

// Trainings in child processes, several at a time: forks of this process, which share the data in
// its memory. They die with it, and what kills one of them ends no other; one that stands still is
// ended. What a child trained is in its checkpoints; only its reports and how it ended come back.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/result.h"
#include "trainer/evaluator.h"

namespace detol::inline models {

// Runs in a child. `place` is below ChildTrainings::at_once, and no other child has it meanwhile.
using ChildTraining =
    std::function<Result<Evaluation>(int place, const Reporter& report, Control& control)>;

struct ChildTrainings {
  std::span<const ChildTraining> trainings;
  int at_once = 1;   // children at a time
  int attempts = 1;  // of a training whose process ends unexpectedly, in a row without a new epoch
  // Called in this process; of a report that a repeated training sends again, too.
  std::function<void(std::size_t training, const EpochReport& report)> on_report;
};

// Runs the trainings to their ends and returns these in their order. A signal to stop suspends what
// runs, and what has not begun counts as suspended; a second one ends this process at once (exit
// code 130). Errors: that of a training, which suspends the others.
// REQUIRES: this process has one thread, and has used neither OpenMP nor a GPU.
Result<std::vector<Evaluation>> train_in_children(const ChildTrainings& work);

}  // namespace detol::inline models

#pragma once

// train() is the training loop of one compiled candidate.

#include <string_view>

#include "core/result.h"
#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"
#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// TrainingContext is what train() works with; all of it outlives the call.
struct TrainingContext {
  const Job& job;
  const Recipe& recipe;  // the job's, its batch no larger than the training split
  const Dataset& data;
  std::string_view backend;  // that compiled the executable
  Executable& executable;    // fresh
  Group& group;              // that the executable was compiled for
  Control& control;
  int batches_ahead = 0;  // that another thread makes before they are trained on; changes no bit
};

// Continues from the job's furthest checkpoint, or begins, and trains until the epochs are done,
// the reporter ends it, `control.suspend` is set or the candidate fails. Ends like
// Evaluator::evaluate, on every rank of the group alike.
Result<Evaluation> train(const TrainingContext& context, const Reporter& report);

}  // namespace detol::inline trainer

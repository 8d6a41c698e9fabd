#pragma once

// train() is the training loop of one compiled candidate.

#include "core/result.h"
#include "trainer/evaluator.h"
#include "trainer/training_context.h"

namespace detol::inline trainer {

// Resumes from the job's furthest checkpoint, or begins, and trains until the epochs are done, the
// reporter ends it, `control.suspend` is set or the candidate fails. Returns the same as
// Evaluator::evaluate, on every rank of the group.
Result<Evaluation> train(const TrainingContext& context, const Reporter& report);

}  // namespace detol::inline trainer

#pragma once

// The built-in trainer on data in memory, for trainings outside of a search. The evaluator of a
// search reads its data itself (evaluator.h).

#include <memory>
#include <string_view>

#include "core/result.h"
#include "trainer/checkpoint.h"
#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Makes it. The data outlive it; where they have no validation images, every metric that begins
// with val_ is left out of the reports, and options.ranking must be empty. Errors: as make_trainer.
Result<std::unique_ptr<Evaluator>> make_trainer_on(const Dataset& data,
                                                   const TrainerOptions& options);

// Moves the validation images to the training split, and changes the fingerprint accordingly. Means
// and deviations stay those of the training images alone.
void train_on_validation(DatasetInfo& data);

// Writes a checkpoint of another job, of whole epochs of the same network, into the folder of this
// one as if this one had come so far, so that evaluate() continues there: with the job's own seed,
// recipe and data, the schedule at the place of that epoch. Errors (kStorage). REQUIRES: nothing is
// in the folder; its last report is of checkpoint.epoch, or that is 0 and there is none.
Result<void> begin_at(Checkpoint checkpoint, const Job& job, const Dataset& data,
                      std::string_view backend);

}  // namespace detol::inline trainer

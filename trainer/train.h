#pragma once

// train() is the training loop of one compiled candidate.

#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"
#include "trainer/data/dataset.h"
#include "trainer/reports/epoch_ranking.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// TrainingContext is the input of train(); all of it outlives the call.
struct TrainingContext {
  const Job& job;
  const Recipe& recipe;  // the job's, with a batch no larger than the training split
  const Dataset& data;
  std::string_view backend;  // by which the executable was compiled
  Executable& executable;    // fresh
  Group& group;              // for which the executable was compiled
  Control& control;
  int batches_ahead = 0;                     // prefetched by another thread; changes no bit
  std::vector<Metric> measured = {};         // of the candidate, to be part of every report
  std::optional<EpochRanking> ranking = {};  // nullopt: the last epoch counts
};

// Resumes from the job's furthest checkpoint, or begins, and trains until the epochs are done, the
// reporter ends it, `control.suspend` is set or the candidate fails. Returns the same as
// Evaluator::evaluate, on every rank of the group.
Result<Evaluation> train(const TrainingContext& context, const Reporter& report);

}  // namespace detol::inline trainer

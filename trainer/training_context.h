#pragma once

// TrainingContext: the input of train().

#include <optional>
#include <string_view>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"
#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"
#include "trainer/reports/epoch_ranking.h"

namespace detol::inline trainer {

// TrainingContext is one training; all of it outlives the call.
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

}  // namespace detol::inline trainer

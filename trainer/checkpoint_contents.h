#pragma once

// Checkpoint: a trial's training after some epoch, or inside one (checkpoint.h).

#include <cstdint>
#include <vector>

#include "encodings/space/trial.h"
#include "trainer/backends/backend.h"
#include "trainer/reports/evaluation.h"

namespace detol::inline trainer {

// EpochProgress sums up the steps of the epoch that is not finished yet.
struct EpochProgress {
  std::int64_t steps = 0;    // finished
  double loss = 0;           // sum over these steps
  std::int64_t correct = 0;  // likewise
  double train_s = 0;        // seconds since the last report
};

struct Checkpoint {
  TrialId trial = 0;
  int attempt = 1;
  std::uint64_t arch_hash = 0;
  std::uint64_t job_hash = 0;  // of everything that affects the numbers: seed, recipe, data, ...
  int epoch = 0;               // epochs finished
  std::int64_t step = 0;       // steps finished since the trial's start, `progress` included
  EpochProgress progress;
  std::vector<EpochReport> history;  // of the early reports and of epochs 1..epoch
  TrainingState state;
  // The scored weights of the best report, unless `state` has them, or the last report counts.
  Weights best = {};
};

}  // namespace detol::inline trainer

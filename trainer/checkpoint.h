#pragma once

// Checkpoint: a trial's training after some epoch, or inside one, as a file that is whole or
// absent; one that is damaged or cannot be read is set aside as `<name>.bad`, where it can be
// renamed, and the previous one is used. Format: docs/checkpoint.md.
//
//   epoch-<n>.a<attempt>.ckpt             n epochs finished: what the trial was scored with
//   epoch-<n>-step-<s>.a<attempt>.ckpt    and s steps of the next: where a suspended one resumes
//
// Attempts share a folder. One reads, renames and removes only what attempts up to itself
// wrote, so that an older attempt that comes back to life cannot disturb a newer one.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "trainer/backends/backend.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// EpochProgress sums up the steps of the epoch that is not finished yet.
struct EpochProgress {
  std::int64_t steps = 0;    // finished
  double loss = 0;           // sum over these steps
  std::int64_t correct = 0;  // likewise
  double train_s = 0;        // seconds
};

struct Checkpoint {
  TrialId trial = 0;
  int attempt = 1;
  std::uint64_t arch_hash = 0;
  std::uint64_t job_hash = 0;  // of all that the numbers depend on: seed, recipe, data, ...
  int epoch = 0;               // epochs finished
  std::int64_t step = 0;       // steps finished since the trial's start, `progress` included
  EpochProgress progress;
  std::vector<EpochReport> history;  // of epochs 1..epoch
  TrainingState state;
};

// Writes the checkpoint durably, creating the folder. Then the last two finished epochs are
// kept, and of unfinished ones what is further than this checkpoint. Errors: kStorage.
Result<void> write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// The whole checkpoint of a folder that is furthest, of the highest attempt up to `attempt`;
// nullopt if there is none. Errors (kStorage): one was written by a newer detol.
Result<std::optional<Checkpoint>> newest_checkpoint(const std::filesystem::path& folder,
                                                    int attempt);

// The checkpoint of exactly that finished epoch, whichever attempt wrote it. Errors (kStorage):
// missing, unreadable, damaged, newer.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& folder, int epoch);

// Renames every checkpoint of attempts up to `attempt` to `<name>.bad`, so that another job can
// begin there.
Result<void> set_aside_checkpoints(const std::filesystem::path& folder, int attempt);

// Removes a folder's checkpoints, of every attempt, but those of exactly that finished epoch (0:
// all). What cannot be removed stays. REQUIRES: no attempt is running.
void remove_checkpoints(const std::filesystem::path& folder, int but_of_epoch);

}  // namespace detol::inline trainer

#pragma once

// Checkpoint: a trial's training after some epoch, as a file that is whole or absent.
// The last two are kept; a damaged one is set aside as `<name>.bad` and the previous one
// is used (faults.md rows 2 and 9). Format: docs/checkpoint.md.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "trainer/backend.h"
#include "trainer/evaluator.h"

namespace detol {

struct Checkpoint {
  TrialId trial = 0;
  int attempt = 1;
  std::uint64_t arch_hash = 0;
  std::uint64_t job_hash = 0;        // of all that the numbers depend on: seed, recipe, data, ...
  int epoch = 0;                     // epochs finished
  std::int64_t step = 0;             // steps finished
  std::vector<EpochReport> history;  // of epochs 1..epoch
  TrainingState state;
};

// Writes `<folder>/epoch-<n>.ckpt` durably, creating the folder, and removes all but the
// last two. Errors: kStorage.
Result<void> write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// The newest whole checkpoint of a folder, or nullopt if there is none. Errors (kStorage):
// unreadable, or written by a newer detol.
Result<std::optional<Checkpoint>> newest_checkpoint(const std::filesystem::path& folder);

// The checkpoint of exactly that epoch. Errors (kStorage): missing, damaged, newer.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& folder, int epoch);

// Renames every checkpoint of the folder to `<name>.bad`, so that another job can begin there.
Result<void> set_aside_checkpoints(const std::filesystem::path& folder);

}  // namespace detol

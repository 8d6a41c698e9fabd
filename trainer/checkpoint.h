#pragma once

// Checkpoints: a trial's training after some epoch, or inside one, each a file that is whole or
// absent. A file that is damaged or cannot be read is renamed to `<name>.bad`, if possible, and the
// previous one is used. Format: docs/checkpoint.md.
//
//   epoch-<n>.a<attempt>.ckpt             n epochs finished: what the trial was scored with
//   epoch-<n>-step-<s>.a<attempt>.ckpt    and s steps of the next: where a suspended one resumes
//
// Attempts share a folder. An attempt reads, renames and removes only files of itself and earlier
// attempts, so that an older attempt that is still running cannot disturb a newer one.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "trainer/backends/backend.h"
#include "trainer/checkpoint_contents.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Returns whether the state is that of the last report, and this one is marked as the best.
bool is_at_best(const Checkpoint& checkpoint);

// Returns the weights that the trial's value is of.
const Weights& best_weights(const Checkpoint& checkpoint);

// Returns the report that the trial's value is of: the last one that is marked as the best; nullptr
// if there is none.
const EpochReport* best_report(const Checkpoint& checkpoint);

// Writes the checkpoint durably, creating the folder. Of this and earlier attempts, keeps this
// checkpoint, the last two finished epochs up to it and what is further than it, and removes the
// rest. Errors: kStorage.
Result<void> write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// Returns the folder's furthest undamaged checkpoint of attempts up to `attempt`, among equals of
// the highest attempt; nullopt if there is none. Errors (kStorage): a newer detol wrote one.
Result<std::optional<Checkpoint>> newest_checkpoint(const std::filesystem::path& folder,
                                                    int attempt);

// Returns the checkpoint of exactly that finished epoch, of any attempt, or, if there is none, the
// furthest inside the next; of a fraction, the furthest inside that epoch. Errors (kStorage):
// missing, unreadable, damaged, newer.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& folder, double epochs);

// Renames every checkpoint of attempts up to `attempt` to `<name>.bad`, so that another job can
// begin there.
Result<void> set_aside_checkpoints(const std::filesystem::path& folder, int attempt);

// Removes a folder's checkpoints, of every attempt, but those of exactly that finished epoch (0:
// all); of a fraction, but the furthest inside that epoch. What cannot be removed stays. REQUIRES:
// no attempt is running.
void remove_checkpoints(const std::filesystem::path& folder, double but_of_epochs);

}  // namespace detol::inline trainer

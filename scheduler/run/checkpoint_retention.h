#pragma once

// CheckpointRetention: removes checkpoints that nothing will read, so that a study's disk space is
// bounded however many trials it has. An ended trial keeps the checkpoint of its last epoch, which
// has the weights of its best one, if it is
//
//   - among the ten best by the first objective, which `detol export` and `detol retrain` read
//   - in the Pareto set of all objectives (of equal values, one trial)
//   - cut by the end of the budget, so that more budget continues it
//   - paused by a pruner that promotes, and among the 32 best of its rung that still wait
//   - where trials inherit weights, among the 64 of the highest numbers
//
// and a trial that waits or runs keeps all of its own (two, and one of an unfinished epoch). So
// there are at most 10 + |Pareto set| + 32 x rungs + 4 x workers files, and a little more where
// a stopped run left several trials in mid-training. A paused trial that is promoted although
// its checkpoint is gone is trained again from its start, to the same numbers.
//
// A removed checkpoint does not come back: a trial that moves up to the tenth place because another
// fell behind it may have none.

#include <filesystem>
#include <memory>
#include <string>

#include "scheduler/observer.h"

namespace detol::inline scheduler {

inline constexpr std::size_t kKeptBest = 10;
inline constexpr std::size_t kKeptPaused = 32;  // in each rung

struct CheckpointRetentionSettings {
  std::filesystem::path folder;  // holds the trials' folders
  std::string pauses;            // the pruner that pauses trials, as in their reason; empty: none
  std::size_t parents = 0;       // trials kept for those that inherit from them
};

// Takes O(log n) per ended trial of n, and O(size) in the Pareto set of several objectives.
std::unique_ptr<Observer> make_checkpoint_retention(CheckpointRetentionSettings settings);

}  // namespace detol::inline scheduler

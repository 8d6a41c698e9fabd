#pragma once

// Keeper: removes checkpoints that nobody will need. Kept are those of trials that may go on,
// and of the ten best, which `detol export` and `detol retrain` read.

#include <filesystem>
#include <memory>

#include "scheduler/observer.h"

namespace detol {

inline constexpr int kKeptTrials = 10;

// `folder` holds the trials' folders.
std::unique_ptr<Observer> make_keeper(std::filesystem::path folder);

}  // namespace detol

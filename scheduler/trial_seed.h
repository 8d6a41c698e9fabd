#pragma once

#include <cstdint>

#include "encodings/space/trial.h"

namespace detol::inline scheduler {

// Returns the seed of a trial, for its weights, shuffling, augmentation and dropout.
std::uint64_t trial_seed(std::uint64_t study_seed, TrialId trial);

}  // namespace detol::inline scheduler

#pragma once

// Refusal: what a run does not train, decided in one place for runs, simulations and the checks
// before them.

#include <optional>

#include "encodings/study/study_config.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

// Returns why groups of so many ranks do not train a candidate of a study that trains: its batches
// have too few images for them, or it needs more memory than the study allows; nullopt if they do.
std::optional<StudyConfig::Refused> refusal_of(const Candidate& candidate,
                                               const Constraints& constraints,
                                               const DatasetInfo& data, int ranks);

}  // namespace detol::inline scheduler

#pragma once

// The space file of a study whose candidates others evaluate, from values.

#include <string>

#include "core/result.h"
#include "encodings/space/space.h"
#include "encodings/study/study_config.h"
#include "scheduler/asking/study_options.h"

namespace detol::inline scheduler {

// Returns the config of a study with this space. Errors (kInput, kUsage): an option that the space
// file does not take, or a space with an architecture.
Result<StudyConfig> external_config(const Space& space, const StudyOptions& options);

}  // namespace detol::inline scheduler

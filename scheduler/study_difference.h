#pragma once

// Checks whether a space file still describes a study that was begun with another text: everything
// but budget and resources must be the same.

#include <string_view>

#include "core/result.h"

namespace detol::inline scheduler {

// Both are StudyConfig::text. Errors (kInput): the first lines that differ.
Result<void> same_study(std::string_view begun_with, std::string_view now);

}  // namespace detol::inline scheduler

#pragma once

// Reads `objectives` and `constraints` of a space file: what trials are compared by, and limits.

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/study/study_config.h"

namespace detol::inline encoding {

// Sets the objectives, the metric constraints and how latency and epochs_to_target are measured.
// REQUIRES: the rest of the study was read. Errors (kInput): with the place.
Result<void> read_objectives(const nlohmann::json& file, const YamlNode& tree,
                             const YamlSource& source, StudyConfig& study);

// Returns the limits in the `constraints` of an architecture.
Constraints limits_of(const nlohmann::json& architecture);

}  // namespace detol::inline encoding

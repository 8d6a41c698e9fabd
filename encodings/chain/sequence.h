#pragma once

// The section `layers` of encoding `chain`: a sequence of layers, one choice for each.
// Private to this folder.

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "core/result.h"
#include "encodings/common/encoding.h"

namespace detol::inline encoding {

std::span<const Field> layers_fields();

// REQUIRES: the architecture has a section `layers`.
Result<Implied> imply_layers(nlohmann::json& architecture);
Result<Network> decode_layers(const nlohmann::json& architecture, const Task& task);

}  // namespace detol::inline encoding

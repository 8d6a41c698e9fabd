#pragma once

// The factories of encoding `cgp`, which encodings() lists. Private to encodings/.

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "core/result.h"
#include "encodings/common/encoding.h"

namespace detol::inline encoding {

std::span<const Field> cgp_schema();
Result<Implied> imply_cgp(nlohmann::json& architecture);
Result<Network> decode_cgp(const nlohmann::json& architecture, const Task& task);
GraphOfCodes labelled_cgp(const nlohmann::json& architecture, const Space& space);

}  // namespace detol::inline encoding

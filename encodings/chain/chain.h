#pragma once

// The factories of encoding `chain`, which encodings() lists. Private to encodings/.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "core/result.h"
#include "encodings/common/encoding.h"

namespace detol::inline encoding {

// Return the words of `block.op` and those of `block.norm`, a key of dense blocks.
std::span<const std::string_view> block_operations();
std::span<const std::string_view> block_norms();

std::span<const Field> chain_schema();
Result<Implied> imply_chain(nlohmann::json& architecture);
Result<Network> decode_chain(const nlohmann::json& architecture, const Task& task);
GraphOfCodes labelled_chain(const nlohmann::json& architecture, const Space& space);

}  // namespace detol::inline encoding

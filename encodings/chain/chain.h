#pragma once

// The factories of encoding `chain`; encodings() is the way to them. Private to encodings/.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "core/result.h"
#include "encodings/common/encoding.h"

namespace detol::inline encoding {

// The words of `block.op` and, of dense blocks, `block.norm`.
std::span<const std::string_view> block_operations();
std::span<const std::string_view> block_norms();

std::span<const Field> chain_schema();
Result<Implied> imply_chain(nlohmann::json& architecture);
Result<Network> decode_chain(const nlohmann::json& architecture, const Task& task);
GraphOfCodes labelled_chain(const nlohmann::json& architecture, const Space& space);

}  // namespace detol::inline encoding

#pragma once

// Values as JSON: true, 3, 0.1, "adamw". Json is nlohmann's json or ordered_json.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "encodings/space/domain.h"

namespace detol::inline encoding {

template <typename Json = nlohmann::json>
Json json_value(const Value& value);

// Returns the value; nullopt for null, a list and an object. A whole number beyond 63 bits is the
// double next to it.
template <typename Json>
std::optional<Value> value_in_json(const Json& json);

}  // namespace detol::inline encoding

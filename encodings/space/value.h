#pragma once

// Value: what a free choice of a study can be.

#include <cstdint>
#include <string>
#include <variant>

namespace detol::inline encoding {

using Value = std::variant<bool, std::int64_t, double, std::string>;

// Returns "true", "3", "0.1", "adamw", as YAML and JSON write values; doubles round-trip.
std::string to_text(const Value& value);

}  // namespace detol::inline encoding

#pragma once

// Whole numbers of untrusted JSON. The library's own get() converts a float of any size, too, which
// is undefined beyond the integer's range.

#include <nlohmann/json_fwd.hpp>

namespace detol::inline core {

// Returns the value as an int, std::int64_t or std::uint64_t. Throws json::other_error if it is no
// whole number, or out of range.
template <typename Integer>
Integer whole_number(const nlohmann::json& value);

}  // namespace detol::inline core

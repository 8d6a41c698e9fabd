#pragma once

// The units of a space file: durations and sizes.

#include <optional>
#include <string>
#include <string_view>

namespace detol::inline encoding {

// Returns "90s", "2d12h", "10min" in seconds; nullopt if it is not a duration.
std::optional<double> parse_duration(std::string_view text);

// Returns "400MB", "2GiB", "1e6" in bytes; nullopt if it is not a size.
std::optional<double> parse_size(std::string_view text);

// Return regular expressions that match what the two accept, as a JSON Schema writes them.
std::string duration_pattern();
std::string size_pattern();

}  // namespace detol::inline encoding

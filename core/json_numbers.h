#pragma once

// Numbers in JSON. Whole numbers of untrusted JSON: the library's own get() converts a float of any
// size, too, which is undefined beyond the integer's range. And the numbers that JSON has not, as
// which the texts "NaN", "Infinity" and "-Infinity" stand. Json is nlohmann's json or ordered_json.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace detol::inline core {

// Returns the value as an int, std::int64_t or std::uint64_t. Throws json::other_error if it is no
// whole number, or out of range.
template <typename Integer>
Integer whole_number(const nlohmann::json& value);

// Returns the text that stands for a number. REQUIRES: it is not finite.
std::string_view word_of_not_finite(double number);

// Returns the number, or the text that stands for it.
template <typename Json = nlohmann::json>
Json json_number(double number);

// Returns the number that json_number() wrote; nullopt for all else.
template <typename Json>
std::optional<double> number_in_json(const Json& written);

}  // namespace detol::inline core

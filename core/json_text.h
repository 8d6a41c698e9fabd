#pragma once

// JSON as text: the one reader of what others wrote, and the one writer. tests/check_json.cmake
// holds the rest of the product to them.
//
// The library's own parse() takes no stack, but copying or writing a value recurses: a text nested
// a hundred thousand deep would be read, and end the process at the first use. Its own dump()
// throws where a text is not UTF-8.

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline core {

// JsonLimits: what a text is refused for before anything is built of it.
struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t values = std::numeric_limits<std::size_t>::max();  // of lists and objects
  int depth = 64;                                                // of lists and objects
};

// Returns the value of a JSON text from outside, as an nlohmann::json or ordered_json. Errors
// (kInput) begin with `what`, and are one line.
template <typename Json = nlohmann::json>
Result<Json> parse_json(std::string_view text, std::string_view what,
                        const JsonLimits& limits = {});

// Returns the value likewise; one that is_discarded(), and so neither list nor object nor anything
// else, where parse_json() has an error.
template <typename Json = nlohmann::json>
Json json_or_discarded(std::string_view text, const JsonLimits& limits = {});

// Returns whether the text is JSON within the limits.
bool is_json(std::string_view text, const JsonLimits& limits = {});

// Returns the JSON as text, on one line unless it is indented. Bytes that are not UTF-8 become
// U+FFFD.
template <typename Json>
std::string compact(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Returns the object's member if it has one of this type (bool, int, double, std::string), else
// `otherwise`. The library's own value() throws where the type is another one.
template <typename T>
T field_or(const nlohmann::json& object, const char* key, T otherwise);

}  // namespace detol::inline core

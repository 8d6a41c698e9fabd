#pragma once

// Parses JSON from untrusted files, and writes JSON. Private to this folder.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline exporting {

// Parses at most 8 MB, nested at most 16 deep. Errors (kInput) start with `what`.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view what);

// Writes a double; "NaN", "Infinity" and "-Infinity" where JSON has no number.
nlohmann::json number_json(double value);
Result<double> number_from(const nlohmann::json& value, std::string_view what);

// Writes JSON on one line. Bytes that are no UTF-8 become U+FFFD.
template <typename Json>
std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns the text as valid UTF-8.
std::string as_utf8(const std::string& text);

}  // namespace detol::inline exporting

#pragma once

// JSON from a stranger's file; private to this folder.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol {

// Parses at most 8 MB, nested at most 16 deep. Errors (kInput) start with `what`.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view what);

// A double; "NaN", "Infinity" and "-Infinity" for what JSON has no number for.
nlohmann::json number_json(double value);
Result<double> number_from(const nlohmann::json& value, std::string_view what);

// On one line. Bytes that are no UTF-8 become U+FFFD.
template <typename Json>
std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The same text, valid UTF-8.
std::string as_utf8(const std::string& text);

}  // namespace detol

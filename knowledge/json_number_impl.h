#pragma once

// Doubles as JSON: numbers, and the texts "NaN", "Infinity" and "-Infinity", for which JSON has no
// number.

#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/json_text.h"

namespace detol::inline knowledge {

inline nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

// Appends the text that json_number() dumps to.
inline void append_number(std::string& text, double value) {
  if (!std::isfinite(value)) {
    text.append(compact(json_number(value)));
    return;
  }
  char digits[64];
  text.append(digits, nlohmann::detail::to_chars(std::begin(digits), std::end(digits), value));
}

// Returns nullopt if it is no number.
inline std::optional<double> number_from(const nlohmann::ordered_json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "Infinity") return std::numeric_limits<double>::infinity();
  if (json == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (json == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace detol::inline knowledge

#pragma once

// Doubles as JSON: numbers, and the texts "NaN", "Infinity" and "-Infinity", for which JSON has no
// number.

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace detol::inline knowledge {

inline nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
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

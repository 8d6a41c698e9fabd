#pragma once

// A trial's choice as JSON: its value, but {"float": "NaN"} where a number is not finite, as a text
// is a choice's name.

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "core/json_numbers.h"
#include "encodings/space/value_json.h"

namespace detol::inline knowledge {

inline nlohmann::ordered_json choice(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real)) return {{"float", json_number<nlohmann::ordered_json>(*real)}};
    return *real;
  }
  return json_value<nlohmann::ordered_json>(value);
}

inline std::optional<Value> choice_from(const nlohmann::ordered_json& json) {
  if (json.is_object()) {
    const auto real = json.contains("float") ? number_in_json(json["float"]) : std::nullopt;
    return real ? std::optional<Value>(*real) : std::nullopt;
  }
  return value_in_json(json);
}

}  // namespace detol::inline knowledge

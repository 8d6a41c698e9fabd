#pragma once

// A trial's choice as JSON: its value, but {"float": "NaN"} where a number is not finite, as a text
// is a choice's name.

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "core/json_numbers.h"
#include "encodings/space/genome.h"

namespace detol::inline knowledge {

inline nlohmann::ordered_json choice(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real)) return {{"float", json_number<nlohmann::ordered_json>(*real)}};
    return *real;
  }
  return std::visit([](const auto& plain) { return nlohmann::ordered_json(plain); }, value);
}

inline std::optional<Value> choice_from(const nlohmann::ordered_json& json) {
  if (json.is_object()) {
    const auto real = json.contains("float") ? number_in_json(json["float"]) : std::nullopt;
    return real ? std::optional<Value>(*real) : std::nullopt;
  }
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return std::nullopt;
}

}  // namespace detol::inline knowledge

#include "core/json_numbers.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace detol::inline core {

using nlohmann::json;

template <typename Integer>
Integer whole_number(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  }
  throw json::other_error::create(501, "a whole number is missing or out of range", nullptr);
}

template int whole_number(const json& value);
template std::int64_t whole_number(const json& value);
template std::uint64_t whole_number(const json& value);

std::string_view word_of_not_finite(double number) {
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

template <typename Json>
Json json_number(double number) {
  return std::isfinite(number) ? Json(number) : Json(word_of_not_finite(number));
}

template <typename Json>
std::optional<double> number_in_json(const Json& written) {
  using Limits = std::numeric_limits<double>;
  if (written.is_number()) return written.template get<double>();
  for (const double number : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()})
    if (written == word_of_not_finite(number)) return number;
  return std::nullopt;
}

template json json_number(double number);
template nlohmann::ordered_json json_number(double number);
template std::optional<double> number_in_json(const json& written);
template std::optional<double> number_in_json(const nlohmann::ordered_json& written);

}  // namespace detol::inline core

#include "encodings/space/value_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace detol::inline encoding {

template <typename Json>
Json json_value(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

template <typename Json>
std::optional<Value> value_in_json(const Json& json) {
  const bool is_huge =
      json.is_number_unsigned() && !std::in_range<std::int64_t>(json.template get<std::uint64_t>());
  if (json.is_boolean()) return json.template get<bool>();
  if (json.is_number_integer() && !is_huge) return json.template get<std::int64_t>();
  if (json.is_number()) return json.template get<double>();
  if (json.is_string()) return json.template get<std::string>();
  return std::nullopt;
}

template nlohmann::json json_value(const Value& value);
template nlohmann::ordered_json json_value(const Value& value);
template std::optional<Value> value_in_json(const nlohmann::json& json);
template std::optional<Value> value_in_json(const nlohmann::ordered_json& json);

}  // namespace detol::inline encoding

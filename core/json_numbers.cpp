#include "core/json_numbers.h"

#include <cstdint>
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

}  // namespace detol::inline core

#include "encodings/common/parameter_reference.h"

#include <nlohmann/json.hpp>

namespace detol::inline encoding {

SectionValue section_value(const nlohmann::json& value, const Space& space) {
  if (value.is_object()) return {{}, space.index_of(value.at("$").get<std::string>())};
  if (value.is_boolean()) return {Value(value.get<bool>()), {}};
  if (value.is_number_integer()) return {Value(value.get<std::int64_t>()), {}};
  if (value.is_number()) return {Value(value.get<double>()), {}};
  return {Value(value.get<std::string>()), {}};
}

SectionValue section_value_at(const nlohmann::json& section, std::string_view key,
                              const Space& space) {
  const auto found = section.find(key);
  return found == section.end() ? SectionValue{} : section_value(*found, space);
}

}  // namespace detol::inline encoding

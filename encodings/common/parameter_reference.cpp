#include "encodings/common/parameter_reference.h"

#include <nlohmann/json.hpp>

#include "encodings/space/value_json.h"

namespace detol::inline encoding {

SectionValue section_value(const nlohmann::json& value, const Space& space) {
  if (value.is_object()) return {{}, space.index_of(value.at("$").get<std::string>())};
  return {value_in_json(value), {}};
}

SectionValue section_value_at(const nlohmann::json& section, std::string_view key,
                              const Space& space) {
  const auto found = section.find(key);
  return found == section.end() ? SectionValue{} : section_value(*found, space);
}

}  // namespace detol::inline encoding

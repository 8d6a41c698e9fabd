#pragma once

// Sections and values of a checked file as JSON. Private to this folder.

#include <nlohmann/json.hpp>
#include <string>

#include "encodings/space/domain.h"

namespace detol::inline encoding {

// Returns the section of a file; an empty object if it is not there.
inline const nlohmann::json& section_of(const nlohmann::json& file, const char* key) {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  return file.contains(key) ? file.at(key) : kEmpty;
}

// Returns the typed value of a checked scalar.
inline Value value_from(const nlohmann::json& scalar) {
  if (scalar.is_boolean()) return scalar.get<bool>();
  if (scalar.is_number_integer()) return scalar.get<std::int64_t>();
  if (scalar.is_number()) return scalar.get<double>();
  return scalar.get<std::string>();
}

}  // namespace detol::inline encoding

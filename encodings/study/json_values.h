#pragma once

// Sections of a checked file as JSON. Private to this folder.

#include <nlohmann/json.hpp>

namespace detol::inline encoding {

// Returns the section of a file; an empty object if it is not there.
inline const nlohmann::json& section_of(const nlohmann::json& file, const char* key) {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  return file.contains(key) ? file.at(key) : kEmpty;
}

}  // namespace detol::inline encoding

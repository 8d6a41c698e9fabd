#pragma once

// Sections of a checked file as JSON. Private to this folder.

#include <nlohmann/json.hpp>

namespace detol::inline encoding {

// Returns the section of a file; an empty object if it is not there.
inline const nlohmann::json& section_of(const nlohmann::json& file, const char* key) {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  return file.contains(key) ? file.at(key) : kEmpty;
}

// Returns a whole number of a section; 0 where it is a word (auto), or is not there.
inline int whole_or_auto(const nlohmann::json& section, const char* key) {
  const nlohmann::json value = section.value(key, nlohmann::json(0));
  return value.is_string() ? 0 : value.get<int>();
}

}  // namespace detol::inline encoding

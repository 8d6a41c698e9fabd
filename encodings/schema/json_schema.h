#pragma once

// JsonSchema: tables of fields as a JSON Schema (draft 2020-12), which editors check a space file
// with while it is written. It accepts what SchemaReader accepts; what tables do not say, such as
// which keys go together, remains to the readers of the sections. Private to encodings/.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encodings/schema/schema.h"

namespace detol::inline encoding {

// What is known of keys beside their fields, by their path ("search.algorithm").
struct KeyNotes {
  std::map<std::string, std::vector<std::string_view>, std::less<>> words;  // for any text
  std::map<std::string, nlohmann::json, std::less<>> defaults;
  std::map<std::string, std::string, std::less<>> references;  // to the schema of a section
};

// Returns the schema of a map with the keys of `fields`; `path` is the map's ("training"), empty
// for the file.
nlohmann::json json_schema_of(std::span<const Field> fields, const KeyNotes& notes,
                              const std::string& path = "");

// Returns the schema of a map whose word under `key` says which of the schemas it has.
nlohmann::json json_schema_by_word(
    std::string_view key, std::span<const std::pair<std::string_view, nlohmann::json>> schemas);

}  // namespace detol::inline encoding

#pragma once

// SpaceSchema: a JSON Schema of the space file, which editors complete and check a file with.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace detol::inline encoding {

// The words of keys that rooms above this one read.
struct SpaceWords {
  std::vector<std::string_view> algorithms, pruners, formats;
};

// Returns the schema (draft 2020-12), made of the tables that the reader of space files uses. What
// it refuses, load_study_config() refuses; not the reverse: which keys go together, what `when`
// names and the values of one's own data are known to the reader alone.
nlohmann::json space_schema(const SpaceWords& words);

}  // namespace detol::inline encoding

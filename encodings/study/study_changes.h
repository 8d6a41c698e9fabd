#pragma once

// What differs between two space files of one study, by key, and which differences a study may take
// in the middle: wider ranges and more choices of its parameters, so that everything it has tried
// stays in its space. Budget and resources may always differ.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline encoding {

struct KeyChange {
  std::string key;          // parameters.lr.high
  std::string before, now;  // as YAML; empty: the key is not there
};

// Returns "parameters.lr.high: 0.1 -> 0.5".
std::string to_text(const KeyChange& change);

// Returns by which keys the second text differs; none: they describe the same study. Both are
// StudyConfig::text. Errors (kInput): a difference that no study takes, by key and with what may
// differ.
Result<std::vector<KeyChange>> changes_of_study(std::string_view begun_with, std::string_view now);

}  // namespace detol::inline encoding

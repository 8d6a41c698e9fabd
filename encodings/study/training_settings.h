#pragma once

// The settings of a training: one row each, of which the reader of space files, the recipe, the
// identity of a training and the test of docs/space-file.md follow. A new one is a field of Recipe
// and a row at the end of the table: what was begun before it came keeps its identity.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "encodings/schema/schema.h"
#include "encodings/study/recipe.h"

namespace detol::inline encoding {

using SettingMember =
    std::variant<std::string Recipe::*, double Recipe::*, int Recipe::*, std::int64_t Recipe::*,
                 bool Recipe::*, std::vector<int> Recipe::*>;

// InIdentity says how the identity of a training contains the value of a setting.
enum class InIdentity {
  kAlways,         // as it is
  kFirstOfGroup,   // likewise, behind a bar
  kUnlessDefault,  // with the setting's name, where it is not Recipe's default
};

struct TrainingSetting {
  std::string_view name;     // in the identity
  std::string_view section;  // of the space file
  Field field;               // its key there, and what it may be
  SettingMember member;
  InIdentity in_identity = InIdentity::kUnlessDefault;
};

// Every field of Recipe, in the order of the identity.
std::span<const TrainingSetting> training_settings();

// The keys of a section such as "training" or "data.augment", of its sections too.
std::span<const Field> settings_fields(std::string_view section);

// Overwrites what the resolved file says; `file` has no choices left.
void read_settings(const nlohmann::json& file, Recipe& recipe);

// Writes every setting that affects numbers as text: equal for equal recipes alone.
std::string identity_text(const Recipe& recipe);

// Errors (kInput): a word that no table has, with a did-you-mean.
Result<void> check_words(const Recipe& recipe);

}  // namespace detol::inline encoding

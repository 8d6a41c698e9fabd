#pragma once

// The settings of a training: one row each, which the reader of space files, the recipe, the
// identity of a training and the test of docs/space-file.md share. A new setting is a field of
// Recipe and a row at the end of the table, so that older trainings keep their identity.

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

// InIdentity: how the identity of a training contains the value of a setting.
enum class InIdentity {
  kAlways,         // as it is
  kFirstOfGroup,   // likewise, behind a bar
  kUnlessDefault,  // with the setting's name, where it is not Recipe's default
};

struct TrainingSetting {
  std::string_view name;     // in the identity
  std::string_view section;  // of the space file
  Field field;               // its key in the section, and its accepted values
  SettingMember member;
  InIdentity in_identity = InIdentity::kUnlessDefault;
};

// Returns a row for every field of Recipe, in the order of the identity.
std::span<const TrainingSetting> training_settings();

// Returns the keys of a section such as "training" or "data.augment", inner sections included.
std::span<const Field> settings_fields(std::string_view section);

// Overwrites the fields that `file` sets; it has no choices left.
void read_settings(const nlohmann::json& file, Recipe& recipe);

// Writes every setting that affects numbers as text: equal only for equal recipes.
std::string identity_text(const Recipe& recipe);

// Checks the words of the recipe. Errors (kInput): a word that no table has, with a did-you-mean.
Result<void> check_words(const Recipe& recipe);

}  // namespace detol::inline encoding

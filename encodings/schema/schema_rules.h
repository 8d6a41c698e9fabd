#pragma once

// The rules of a space file beyond its tables of fields, which the reader and the JSON Schema
// share. Private to this folder.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "encodings/schema/schema.h"
#include "encodings/space/domain.h"

namespace detol::inline encoding {

inline constexpr std::size_t kMostItems = 256;  // in one list, repeats counted

// TypeRow: one type of choice: the word, the kind of domain, the keys that its map may have.
struct TypeRow {
  std::string_view name;
  DomainKind kind;
  std::span<const Field> keys;
};

// Returns every type of choice.
std::span<const TypeRow> choice_types();

// Returns the key `type` of a choice.
const Field& choice_type_field();

// Returns the types of choice that may stand for a field.
std::vector<std::string_view> choice_types_for(FieldKind kind);

// Returns what `low` and `high` of a choice must be, where `key` is their row of the type: a value
// that the field accepts, too.
Field bound_of(const Field& field, const Field& key);

// Returns the `name` of a kNamed field that is written as a map.
Field name_of_named(const Field& field);

// Returns what stands for each name in a kChoices, and in a kTexts field.
Field value_of_any_name(FieldKind kind);

// Returns one item of a kWords, a kInts or a kTextOrTexts field.
Field item_of_list(const Field& field);

}  // namespace detol::inline encoding

#pragma once

// The scalars of a space file: the values that a field accepts, and their description in messages.
// Private to this folder.

#include <optional>
#include <string>
#include <string_view>

#include "encodings/schema/schema.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/space/domain.h"

namespace detol::inline encoding {

// Returns the scalar as a value of the field; nullopt if the field does not accept it.
std::optional<Value> typed_value(const Field& field, const YamlNode& scalar);

// True if the field accepts a value that a domain may take.
bool accepts(const Field& field, const Value& value);

// Returns "a whole number from 1 to 64", "true or false", "one of sgd, adamw".
std::string describe(const Field& field);

// Returns "training.epochs is 'abc'; it must be a whole number of at least 1", with a did-you-mean
// for words.
std::string mistake_in(const Field& field, const YamlNode& node, std::string_view path);

}  // namespace detol::inline encoding

#pragma once

// A scalar of a YAML file as a value.

#include "encodings/schema/yaml_tree.h"
#include "encodings/space/value.h"

namespace detol::inline encoding {

// Returns a plain scalar as YAML 1.2 reads it: true, 3, 0.1, else text.
Value plain_value(const YamlNode& scalar);

// Returns a plain scalar as the value of a program's parameter: numbers only where the word says no
// more than the number (value_of_word), so that 3.10 and 007 remain texts.
Value written_value(const YamlNode& scalar);

}  // namespace detol::inline encoding

#include "encodings/schema/yaml_value.h"

#include "encodings/space/written_value.h"

namespace detol::inline encoding {

Value plain_value(const YamlNode& scalar) {
  if (scalar.quoted) return scalar.scalar;
  if (scalar.scalar == "true" || scalar.scalar == "false") return scalar.scalar == "true";
  return number_or_text(scalar.scalar);
}

Value written_value(const YamlNode& scalar) {
  return scalar.quoted ? Value(scalar.scalar) : value_of_word(scalar.scalar);
}

}  // namespace detol::inline encoding

#pragma once

// Reads the header of a safetensors file event by event (SAX): only the known fields take memory,
// however deep or long the header is. Private to this folder.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline exporting {

struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // data_offsets
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> tensors;  // in the header's order
};

// Parses a header. Errors (kInput): not JSON, a key twice, a field missing, unknown or of a wrong
// type.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text);

}  // namespace detol::inline exporting

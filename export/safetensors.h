#pragma once

// Safetensors: named tensors and a map of texts in one file, which can be read without running
// any code from it. Any thread.
//
//   file     := length header data
//   length   := u64, little-endian   of the header: here at most 8 MB
//   header   := JSON, padded with spaces
//               {"__metadata__": {KEY: TEXT, ...},
//                NAME: {"dtype": "F32", "shape": [8, 3, 3, 3], "data_offsets": [0, 864]}, ...}
//   data     := the tensors' bytes, little-endian, row-major, without holes or overlap
//
// The format: https://github.com/huggingface/safetensors, whose reader refuses what this refuses.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline exporting {

struct SafeTensor {
  std::string name;
  std::string dtype;  // F32, I64, ...
  std::vector<std::int64_t> shape;
  std::string_view bytes;  // a view of the file, or of the data to write
};

struct SafeTensors {
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensor> tensors;  // in the order of their data
};

// Parses a file. Checks every byte of the header and every length; takes memory in proportion to
// the header alone. The tensors view `file`. Errors (kInput): what is wrong and where, in one line.
Result<SafeTensors> parse_safetensors(std::string_view file);

// Returns the bytes of a file, equal for equal contents. REQUIRES: names are unique, each tensor
// has as many bytes as its dtype and shape need. Errors (kExport): a header beyond 8 MB.
Result<std::string> safetensors_file(const SafeTensors& contents);

}  // namespace detol::inline exporting

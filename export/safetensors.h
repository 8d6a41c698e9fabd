#pragma once

// Safetensors: named tensors and a map of texts in one file that can be read without running
// or trusting anything. Any thread.
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
  std::string_view bytes;  // of the file, or of whoever owns what is to be written
};

struct SafeTensors {
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensor> tensors;  // in the order of their data
};

// Checks every byte of the header and every length; takes memory in proportion to the header alone.
// The tensors view `file`. Errors (kInput): one line saying what is wrong and where.
Result<SafeTensors> parse_safetensors(std::string_view file);

// Equal contents give equal bytes. REQUIRES: names are unique, each tensor has as many bytes as its
// dtype and shape say. Errors (kExport): a header beyond 8 MB.
Result<std::string> safetensors_file(const SafeTensors& contents);

}  // namespace detol::inline exporting

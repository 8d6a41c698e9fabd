#pragma once

// NPY: NumPy's format of one array (numpy.lib.format, versions 1 to 3).
//
//   file   := 0x93 "NUMPY" major minor size header data
//   size   := the header's bytes, in 2 bytes; in 4 bytes from version 2 on
//   header := "{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }" blank* "\n"
//
// Supported: integers, floats of 4 and 8 bytes and booleans of either byte order, in C order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "trainer/data/formats/packed_file.h"

namespace detol::inline trainer {

struct NpyArray {
  char kind = 'u';                       // NumPy's: u unsigned, i signed, b bool, f float
  std::size_t bytes = 1;                 // of an element: 1, 2, 4, 8
  bool is_swapped = false;               // other byte order than this machine's
  std::vector<std::int64_t> sizes = {};  // each at least 1
  std::uint64_t start = 0;               // of the data, in bytes

  bool is_of_bytes() const { return kind == 'u' && bytes == 1; }
  bool is_whole() const { return kind != 'f'; }
  std::uint64_t elements() const;
};

// Reads the header and leaves `file` at the array's first byte. Errors (kInput): there is no
// header, or its array is not supported or larger than the file can be.
Result<NpyArray> read_npy_header(PackedFile& file);

// Convert raw elements to floats, doubles or whole numbers. REQUIRES: as many raw elements as `out`
// has; to_whole_numbers: array.is_whole(). Numbers above the largest int64 become -1.
void to_doubles(const NpyArray& array, std::span<const std::uint8_t> raw, std::span<double> out);
void to_floats(const NpyArray& array, std::span<const std::uint8_t> raw, std::span<float> out);
void to_whole_numbers(const NpyArray& array, std::span<const std::uint8_t> raw,
                      std::span<std::int64_t> out);

}  // namespace detol::inline trainer

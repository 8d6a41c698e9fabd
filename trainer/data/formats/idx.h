#pragma once

// IDX: the format of MNIST and Fashion-MNIST (Y. LeCun, "The MNIST database"): a folder with
// {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, each also with a dot
// before `idx`, each also packed as .gz. A file is
//
//   file   := 0x00 0x00 0x08 dimensions size{dimensions} byte*     dimensions: 1 or 3
//   size   := 4 bytes, big-endian                                  first: number of items
//
// The t10k files are the test split. Images have one channel.

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "trainer/data/formats/packed_file.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

// Keeps the files' bytes in memory, .gz files packed; pixels are unpacked when they are read.
Result<Found> open_idx(const DataConfig& config);

// Returns the sizes in a file's header and leaves the file at the first item. Errors (kInput): it
// is of another number of dimensions, a size is 0, their product is more than the file can have.
Result<std::vector<std::int64_t>> read_idx_sizes(PackedFile& file, int dimensions);

}  // namespace detol::inline trainer

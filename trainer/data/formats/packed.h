#pragma once

// Packed data: a whole data set, split and checked, in one file that workers map into shared
// memory: the disk is read once per machine, and one copy serves all its workers. Training on it
// gives the same bits as on the original data, whose fingerprint it has.
//
// The layout is in packed_write.cpp. The whole file is checked before any of it is used: the head
// by its checksum, then each block by its own, at once, not when an image is first read. So a
// damaged file is found before training, not hours later. It costs one sequential read of the file,
// some 2 GB/s once the machine has it in memory, and less than the first epoch, which reads all of
// it anyway.

#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Packed is the contents of a packed file.
struct Packed {
  Dataset data;
  double validation = 0;  // data.split.validation of the split
};

// Writes the whole file or none. The file's task is that of the data; a binary task is packed as a
// classification of two classes and trained as binary if data.task is. Errors (kStorage): the
// disk's. REQUIRES: data of load_dataset(), data.task not binary.
Result<void> write_packed(const Dataset& data, double validation,
                          const std::filesystem::path& path);

// Reads and checks a packed file. Errors (kInput), with the byte: another format, a newer version,
// truncated or damaged.
Result<Packed> read_packed(const std::filesystem::path& path);

// Loads the file that a study trains on. Errors (kInput): as above, or it was split by another
// data.split.validation or packed for another task.
Result<Dataset> load_packed(const DataConfig& config);
Result<DatasetInfo> inspect_packed(const DataConfig& config);

}  // namespace detol::inline trainer

#pragma once

// Packed data: a whole data set, split and checked, in one file that workers read through memory
// they share: the disk is read once per machine, and one copy serves all its workers. Trains to
// the bits that the data it was packed from train to: the fingerprint is theirs.
//
// The layout stands in packed_write.cpp. All of it is checked before any of it is used: the head
// by its checksum, then each block by its own, at once, not when an image is first looked at. So
// a damaged file is found before the training and not in the middle of a night. It costs one
// sequential reading of the file, some 2 GB/s once the machine has it in memory, and less than
// the first epoch, which reads all of it anyway.

#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Packed is the contents of a packed file.
struct Packed {
  Dataset data;
  double validation = 0;  // data.split.validation, which it was split by
};

// Writes whole or not at all. The file's task is that of the data; one of two classes is to be
// loaded as a classification, which it trains as where data.task says so. Errors (kStorage): the
// disk's. REQUIRES: data of load_dataset(), data.task not binary.
Result<void> write_packed(const Dataset& data, double validation,
                          const std::filesystem::path& path);

// Errors (kInput): the file is foreign, newer, cut or damaged, and at which byte.
Result<Packed> read_packed(const std::filesystem::path& path);

// Errors (kInput): those, and that it was split otherwise than data.split.validation says, or
// packed for another task.
Result<Dataset> load_packed(const DataConfig& config);
Result<DatasetInfo> inspect_packed(const DataConfig& config);

}  // namespace detol::inline trainer

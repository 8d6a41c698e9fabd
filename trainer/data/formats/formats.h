#pragma once

// The table of formats, and the functions that read a data set. Apart from the interface of a
// format, so that no format depends on another.

#include <span>

#include "trainer/data/formats/format.h"

namespace detol::inline trainer {

// Returns every format that detol reads.
std::span<const FormatRow> formats();

// Reads a data set and checks it: magic numbers, sizes, label range, no class missing. Errors
// (kInput) name the file, the offset and what was expected.
Result<Dataset> load_dataset(const DataConfig& config);

// Makes the same checks, without storing the pixels.
Result<DatasetInfo> inspect_dataset(const DataConfig& config);

}  // namespace detol::inline trainer

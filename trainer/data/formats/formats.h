#pragma once

// The table of formats, and how a data set is read: apart from the interface of a format, so that
// none of them sees the others.

#include <span>

#include "trainer/data/formats/format.h"

namespace detol::inline trainer {

// Every format detol reads.
std::span<const FormatRow> formats();

// Reads everything and checks it: magic numbers, sizes, label range, no class missing.
// Errors (kInput) name the file, the offset and what was expected.
Result<Dataset> load_dataset(const DataConfig& config);

// The same checks, without keeping the pixels.
Result<DatasetInfo> inspect_dataset(const DataConfig& config);

}  // namespace detol::inline trainer

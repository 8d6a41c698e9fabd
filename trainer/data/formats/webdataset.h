#pragma once

// The data format `webdataset`: tar files (.tar, .tar.gz), in a folder, or a single one. A sample
// is the members of one tar that share their name up to the first dot after the last slash: a
// picture (.jpg, .jpeg, .png) and its label (.cls, a whole number as text); other members are
// ignored. In a folder, files whose name begins with `val` are the validation split, those with
// `test` the test split, all others the training split, in the order of their names. Nothing is
// ever written to disk.

#include "core/result.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

Result<Found> open_webdataset(const DataConfig& config);

}  // namespace detol::inline trainer

#pragma once

// The data format `webdataset`: tar files (.tar, .tar.gz), in a folder or one alone. A sample is
// the members of one tar that share their name up to the first dot of its last part: a picture
// (.jpg, .jpeg, .png) and its label (.cls, a whole number as text); other members do not count. In
// a folder, files whose name begins with `val` are the validation split, those with `test` the test
// part, all others are trained on, in the order of their names. Nothing is ever written to disk.

#include "core/result.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

Result<Found> open_webdataset(const DataConfig& config);

}  // namespace detol::inline trainer

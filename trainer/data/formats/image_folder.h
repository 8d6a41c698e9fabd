#pragma once

// The data format `image_folder`: train/CLASS/*.jpg, .jpeg and .png, and val/ and test/ of the same
// classes if they exist; or only CLASS/*. Classes are the folders' names, sorted as bytes. Other
// files, and names that begin with a dot, are ignored.

#include "core/result.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

Result<Found> open_image_folder(const DataConfig& config);

}  // namespace detol::inline trainer

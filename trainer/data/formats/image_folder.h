#pragma once

// The data format `image_folder`: the JPEG and PNG files of a PictureFolder (picture_folder.h).

#include "core/result.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

Result<Found> open_image_folder(const DataConfig& config);

}  // namespace detol::inline trainer

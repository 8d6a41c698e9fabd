#pragma once

// PictureForm: the form that decoded pictures of any size are given: first grey or colour, then a
// square, as trainer/data/formats/picture_colours.h and resize.h define them. A file's EXIF
// orientation is part of decoding.

#include "encodings/network/picture_fit.h"

namespace detol::inline trainer {

struct PictureForm {
  int size = 0;  // side of the square, 1 to 4096; 0: pictures keep their size
  PictureFit fit = PictureFit::kCrop;
  int channels = 3;  // 1: grey, 3: colour
};

}  // namespace detol::inline trainer

#include "encodings/network/picture_fit.h"

#include <array>

namespace detol::inline encoding {
namespace {

constexpr std::array kPictureFits = {
    PictureFitRow{"crop", PictureFit::kCrop},
    PictureFitRow{"pad", PictureFit::kPad},
    PictureFitRow{"stretch", PictureFit::kStretch},
};

}  // namespace

std::span<const PictureFitRow> picture_fits() {
  return kPictureFits;
}

}  // namespace detol::inline encoding

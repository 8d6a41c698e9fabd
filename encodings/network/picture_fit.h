#pragma once

// PictureFit: how a picture of any size becomes a square of data.size. Its sides are rounded to
// whole pixels, at least one; what is cut off or filled up is halved, with the odd line at the
// bottom or the right.

#include <span>
#include <string_view>

namespace detol::inline encoding {

enum class PictureFit {
  kCrop,     // scaled until the shorter side fits; the middle is kept
  kPad,      // scaled until the longer side fits; the rest is black
  kStretch,  // each side scaled for itself
};

struct PictureFitRow {
  std::string_view name;  // data.fit
  PictureFit fit;
};

// Returns every fit, in the order of PictureFit.
std::span<const PictureFitRow> picture_fits();

}  // namespace detol::inline encoding

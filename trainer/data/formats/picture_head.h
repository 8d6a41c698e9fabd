#pragma once

// PictureHead: a JPEG or PNG file by its header.

#include <cstdint>
#include <span>

namespace detol::inline trainer {

using PictureBytes = std::span<const std::uint8_t>;  // of a file

enum class PictureColour { kGrey, kColour, kPalette, kCmyk };

// PictureHead is what the header of a file says.
struct PictureHead {
  bool is_jpeg = true;  // else a PNG file
  int height = 0;       // as stored
  int width = 0;
  PictureColour colour = PictureColour::kColour;
  int bits = 8;  // of a channel, or of an index into a palette
  bool has_alpha = false;
  int orientation = 1;  // EXIF's, 1 to 8
};

}  // namespace detol::inline trainer

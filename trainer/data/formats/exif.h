#pragma once

// The orientation of a picture, from the EXIF data of its file: the tag 0x0112 of the first
// directory of a TIFF header, in the APP1 segment of a JPEG file or the eXIf chunk of a PNG file
// (CIPA DC-008, https://www.w3.org/TR/png-3/#eXIf). Whatever is not as the standards say is passed
// over: the picture is then upright. Any thread.

#include <cstdint>
#include <span>

namespace detol::inline trainer {

// Return 1 to 8, as EXIF counts them; 1, upright, if the file does not say.
int orientation_of_jpeg(std::span<const std::uint8_t> file);
int orientation_of_png(std::span<const std::uint8_t> file);

// True if the orientation exchanges height and width.
constexpr bool exchanges_sides(int orientation) {
  return orientation >= 5;
}

// Writes the pixels upright. `height` and `width` are those of `from`; a pixel has `channels`
// bytes. REQUIRES: 1 <= orientation <= 8; from and to have height x width x channels bytes, and do
// not overlap.
struct StoredSize {
  int height = 0, width = 0, channels = 0;
};
void turn_upright(std::span<const std::uint8_t> from, const StoredSize& size, int orientation,
                  std::span<std::uint8_t> to);

}  // namespace detol::inline trainer

#pragma once

// The pixels of a file become those of a network: grey or colour, without alpha. Whole numbers, so
// that every machine and an exported graph (export/onnx_picture.h) compute the same; each is what
// Pillow computes.
//
//   alpha  c' = floor((c a + 255 (255 - a) + 127) / 255): the picture lies on white
//   CMYK   c' = k - (255 - c) k / 255, rounded, of the inks that are left out (Adobe's convention)
//   grey   floor((19595 r + 38470 g + 7471 b + 2^15) / 2^16): ITU-R BT.601

#include <cstdint>
#include <span>
#include <vector>

namespace detol::inline trainer {

// Converts pixels of `from` channels, in place: 1 grey, 2 grey with alpha, 3 colour, 4 colour with
// alpha or, if `is_cmyk`, inks. REQUIRES: `to` is 1 or 3.
void convert_colours(std::vector<std::uint8_t>& pixels, int from, bool is_cmyk, int to);

}  // namespace detol::inline trainer

#pragma once

// Resizing of pictures to a square, in whole numbers, so that a picture has the same pixels on
// every machine, and in an exported graph (export/onnx_picture.h): all sums stay below 2^24, where
// floats are exact.
//
// Each side is resized for itself, first across, then down, and rounded to bytes after each. Of a
// side of F pixels, scaled to S, line k is the sum of w[k][p] x pixel[p] over the pixels p:
//
//   h[k][p] = max(0, 2 max(F, S) - |(2p + 1) S - (2k + 1) F|)
//   H[k][p] = h[k][0] + ... + h[k][p]           T[k] = H[k][F - 1]
//   w[k][p] = r(H[k][p]) - r(H[k][p - 1])       r(x) = floor((2^17 x + T[k]) / 2 T[k])
//   line k  = floor((sum + 2^15) / 2^16)
//
// h is the height of a triangle around the centre of line k, at the centre of pixel p; it reaches
// as far as a line is wide, and at least to the next pixel: the filter that Pillow calls BILINEAR
// (https://github.com/python-pillow/Pillow, src/libImaging/Resample.c), whose bytes differ from
// these by at most 1. The weights are whole numbers, each line's sum is 2^16. A side that keeps its
// size keeps its pixels.

#include <cstdint>
#include <span>
#include <vector>

#include "encodings/network/picture_fit.h"

namespace detol::inline trainer {

// The most pixels of a side: the numbers above fit into 64 bits.
inline constexpr int kMostPixelsOfSide = 65535;

// Picture: decoded pixels in rows, each pixel of `channels` bytes.
struct Picture {
  std::span<const std::uint8_t> bytes;  // height x width x channels
  int height = 0;
  int width = 0;
  int channels = 3;  // 1 or 3
};

// ScaledSide: line i of the square is line `first` + i of a side of `pixels`, scaled to `scaled`.
// It is black where there is no such line.
struct ScaledSide {
  int pixels = 0;
  int scaled = 0;
  int first = 0;
  friend bool operator==(const ScaledSide&, const ScaledSide&) = default;
};

// Returns how a side of `pixels` becomes one of `size`, where the picture's other side has `other`.
//   crop, pad: scaled = max(1, floor((2 pixels size + fitted) / 2 fitted)), with the shorter or the
//   longer side as `fitted`; first = (scaled - size) / 2, rounded towards 0
ScaledSide scaled_side(int pixels, int other, int size, PictureFit fit);

// Resizer makes squares of pictures, C x H x W. Takes about (width x size + size x size) x channels
// x pixels merged into one. Not thread-safe: pictures of the same size as the one before reuse its
// weights.
class Resizer {
 public:
  Resizer(int size, PictureFit fit) : size_(size), fit_(fit) {}

  // Writes the square. REQUIRES: out has channels x size x size bytes; a picture's sides are 1 to
  // kMostPixelsOfSide.
  void write(const Picture& picture, std::span<std::uint8_t> out);

 private:
  // Mix makes one line of the square: a sum of the lines from `first` on; black without weights.
  struct Mix {
    int first = 0;
    std::vector<std::int32_t> weights;
  };
  static Mix mix_of(const ScaledSide& side, std::int64_t line);
  void prepare(std::vector<Mix>& mixes, ScaledSide& prepared, const ScaledSide& side) const;
  template <std::size_t kChannels>
  void shrink_row(const std::uint8_t* from, std::uint8_t* to, std::size_t plane) const;

  int size_;
  PictureFit fit_;
  ScaledSide across_of_, down_of_;  // the sides that the weights are for
  std::vector<Mix> across_, down_;
  std::vector<std::uint8_t> rows_;  // needed rows, resized: channels x rows x size
  std::vector<std::int32_t> sums_;  // of a row of the result
};

}  // namespace detol::inline trainer

#pragma once

// Resizing of pictures to a square, in integers: see picture.h.

#include <cstdint>
#include <span>
#include <vector>

#include "encodings/network/layer.h"

namespace detol::inline trainer {

// Picture: decoded pixels in rows, each pixel of `channels` bytes.
struct Picture {
  std::span<const std::uint8_t> bytes;  // height x width x channels
  int height = 0;
  int width = 0;
  int channels = 3;  // 1 or 3
};

// Resizer scales a picture so that its shorter side has `size` pixels, and crops the square in the
// middle, C x H x W. Takes about (width x size + size x size) x channels x pixels merged into one.
// Not thread-safe: pictures of the same size as the one before reuse its weights.
class Resizer {
 public:
  // Writes the square. REQUIRES: out has channels x size x size bytes; picture.height, width >= 1.
  void write(const Picture& picture, int size, std::span<std::uint8_t> out);

 private:
  // Mix makes one line of the result: a sum of the lines from `first` on with `weights`.
  struct Mix {
    int first = 0;
    std::vector<std::int32_t> weights;  // their sum is kOne
  };
  struct Shrinking {
    int height = 0, width = 0, size = 0;
    friend bool operator==(const Shrinking&, const Shrinking&) = default;
  };
  static std::vector<Mix> mixes(int from, int shorter, int size);
  void prepare(const Shrinking& shrinking);
  template <std::size_t kChannels>
  void shrink_row(const std::uint8_t* from, std::uint8_t* to, std::size_t plane) const;

  Shrinking prepared_;  // the sizes that the weights are for
  std::vector<Mix> across_, down_;
  std::vector<std::uint8_t> rows_;  // needed rows, resized: channels x rows x size
  std::vector<std::int32_t> sums_;  // of a row of the result
};

}  // namespace detol::inline trainer

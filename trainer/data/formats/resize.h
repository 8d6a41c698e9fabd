#pragma once

// Resizing of pictures to a square, in integers: see picture.h.

#include <cstdint>
#include <span>
#include <vector>

#include "encodings/network/layer.h"

namespace detol::inline trainer {

// A picture as decoders give it: rows of pixels, each of so many bytes.
struct Picture {
  std::span<const std::uint8_t> bytes;  // height x width x channels
  int height = 0;
  int width = 0;
  int channels = 3;  // 1 or 3
};

// The square in the middle of a picture whose shorter side was made `size` pixels long, C x H x W.
// Takes about (width x size + size x size) x channels x pixels that become one. One thread at a
// time: pictures as large as the one before use its weights again.
class Resizer {
 public:
  // REQUIRES: out has channels x size x size bytes; picture.height, picture.width >= 1.
  void write(const Picture& picture, int size, std::span<std::uint8_t> out);

 private:
  // Mix makes one line of the result: `weights` of the lines from `first` on.
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

  Shrinking prepared_;  // what the weights are for
  std::vector<Mix> across_, down_;
  std::vector<std::uint8_t> rows_;  // of the needed rows: channels x rows x size
  std::vector<std::int32_t> sums_;  // of a row of the result
};

}  // namespace detol::inline trainer

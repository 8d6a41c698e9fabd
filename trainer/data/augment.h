#pragma once

// Augment: one image from bytes to the normalised numbers a network reads, on the way moved,
// mirrored, or left as it is. A pixel x of a channel becomes (x / 255 - mean) / deviation of
// that channel; what a crop uncovers is black (x = 0), padded before normalisation as
// torchvision does. Allocates nothing.

#include <cstdint>
#include <span>
#include <vector>

#include "core/rng.h"
#include "trainer/dataset.h"

namespace detol {

// Where a training image is looked at.
struct Window {
  std::int64_t down = 0;  // of the window's corner within the image; may be negative
  std::int64_t right = 0;
  bool mirrored = false;  // left and right swapped, after the crop
};

// A crop of the image's own size out of the image with `padding` black pixels on every side;
// mirrored with probability 1/2 if `flip`.
Window draw_window(Rng rng, int padding, bool flip);

class Normaliser {
 public:
  explicit Normaliser(const Dataset& data);

  // REQUIRES: image and out have the size of the data's images.
  void write(std::span<const std::uint8_t> image, std::span<float> out) const;
  void write(std::span<const std::uint8_t> image, const Window& window, std::span<float> out) const;

 private:
  struct Channel {
    float scale, shift;
    float operator()(std::uint8_t pixel) const { return scale * static_cast<float>(pixel) + shift; }
  };

  Shape shape_;
  std::vector<Channel> channels_;
};

}  // namespace detol

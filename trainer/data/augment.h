#pragma once

// Augment: converts one image from bytes to the normalised numbers a network reads, optionally
// shifted or mirrored. A pixel x of a channel becomes (x / 255 - mean) / deviation of that channel
// or, if pixels are not bytes, (x - mean) / deviation; a crop is padded with black (x = 0) before
// normalisation, as torchvision does. The cells of a table become what its encoder makes of them.
// Allocates nothing.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/rng.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Window is the crop of a training image.
struct Window {
  std::int64_t down = 0;  // of the window's corner in the image; may be negative
  std::int64_t right = 0;
  bool mirrored = false;  // left and right swapped, after the crop
};

// Draws a crop of the image's own size from the image padded with `padding` black pixels on every
// side; mirrored with probability 1/2 if `flip`.
Window draw_window(Rng rng, int padding, bool flip);

// Square hides the pixels of a training image that lie within it (cutout).
struct Square {
  std::int64_t top = 0;  // of the corner; may be negative
  std::int64_t left = 0;
  std::int64_t size = 0;
};

// Draws a square whose centre is uniformly distributed over the image's pixels (DeVries & Taylor
// 2017, arXiv 1708.04552). Its centre is the pixel below and right of the middle if the size is
// even.
Square draw_square(Rng rng, const Shape& shape, std::int64_t size);

// Sets the square's pixels in an image of that shape to 0 in every channel, which is the mean.
void hide(const Square& square, const Shape& shape, std::span<float> image);

class Normaliser {
 public:
  explicit Normaliser(const Dataset& data);

  // Writes one image of `data`, from which the normaliser was made. REQUIRES: out has the size of
  // its images.
  void write(const Dataset& data, std::int64_t image, std::span<float> out) const;
  void write(const Dataset& data, std::int64_t image, const Window& window,
             std::span<float> out) const;

 private:
  struct Channel {
    float scale, shift;
    template <typename Pixel>
    float operator()(Pixel pixel) const {
      return scale * static_cast<float>(pixel) + shift;
    }
  };

  template <typename Pixel>
  void write_whole(std::span<const Pixel> image, std::span<float> out) const;
  template <typename Pixel>
  void write_window(std::span<const Pixel> image, const Window& window, std::span<float> out) const;

  Shape shape_;
  std::shared_ptr<const TableEncoder> table_;  // of a table whose cells are not only standardised
  std::vector<Channel> channels_;
};

}  // namespace detol::inline trainer

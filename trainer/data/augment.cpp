#include "trainer/data/augment.h"

#include <algorithm>
#include <cassert>

#include "trainer/data/table_encoder.h"

namespace detol::inline trainer {

Window draw_window(Rng rng, int padding, bool flip) {
  Window window;
  const auto offset = [&] {
    return static_cast<std::int64_t>(rng.below(2 * static_cast<std::uint64_t>(padding) + 1)) -
           padding;
  };
  window.down = offset();
  window.right = offset();
  window.mirrored = flip && rng.chance(0.5);
  return window;
}

Square draw_square(Rng rng, const Shape& shape, std::int64_t size) {
  const auto below = [&](std::int64_t extent) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(extent)));
  };
  const std::int64_t y = below(shape.height), x = below(shape.width);
  return {.top = y - size / 2, .left = x - size / 2, .size = size};
}

void hide(const Square& square, const Shape& shape, std::span<float> image) {
  const std::int64_t top = std::max<std::int64_t>(square.top, 0);
  const std::int64_t left = std::max<std::int64_t>(square.left, 0);
  const std::int64_t bottom = std::min(square.top + square.size, shape.height);
  const std::int64_t width = std::min(square.left + square.size, shape.width) - left;
  for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
    for (std::int64_t y = top; y < bottom; ++y)
      std::fill_n(
          &image[static_cast<std::size_t>((channel * shape.height + y) * shape.width + left)],
          width, 0.0F);
  }
}

Normaliser::Normaliser(const Dataset& data) : shape_(data.info.task.input) {
  if (is_encoded(data)) table_ = data.table;
  const double most = data.has_bytes() ? 255 : 1;
  for (std::size_t channel = 0; channel < data.mean.size(); ++channel) {
    const double mean = data.mean[channel], deviation = data.deviation[channel];
    channels_.push_back(
        {static_cast<float>(1 / (most * deviation)), static_cast<float>(-mean / deviation)});
  }
}

void Normaliser::write(const Dataset& data, std::int64_t image, std::span<float> out) const {
  if (table_)
    table_->encode(data.values_of(image), out);
  else if (data.has_bytes())
    write_whole(data.image(image), out);
  else
    write_whole(data.values_of(image), out);
}

void Normaliser::write(const Dataset& data, std::int64_t image, const Window& window,
                       std::span<float> out) const {
  if (table_)
    table_->encode(data.values_of(image), out);
  else if (data.has_bytes())
    write_window(data.image(image), window, out);
  else
    write_window(data.values_of(image), window, out);
}

template <typename Pixel>
void Normaliser::write_whole(std::span<const Pixel> image, std::span<float> out) const {
  assert(image.size() == out.size());
  const auto plane = static_cast<std::size_t>(shape_.height * shape_.width);
  const Pixel* from = image.data();
  float* to = out.data();
  for (const Channel channel : channels_) {
    for (std::size_t i = 0; i < plane; ++i) to[i] = channel(from[i]);
    from += plane;
    to += plane;
  }
}

template <typename Pixel>
void Normaliser::write_window(std::span<const Pixel> image, const Window& window,
                              std::span<float> out) const {
  assert(image.size() == out.size());
  const std::int64_t height = shape_.height, width = shape_.width;
  const std::int64_t first = std::clamp<std::int64_t>(-window.right, 0, width);
  const std::int64_t last = std::clamp<std::int64_t>(width - window.right, first, width);
  const Pixel* plane = image.data();
  float* row = out.data();
  for (const Channel channel : channels_) {
    const float black = channel(0.0F);
    for (std::int64_t y = 0; y < height; ++y, row += width) {
      const std::int64_t from = y + window.down;
      const bool covered = from >= 0 && from < height;
      std::fill(row, row + (covered ? first : width), black);
      if (!covered) continue;
      const Pixel* pixels = plane + from * width + window.right;
      for (std::int64_t x = first; x < last; ++x) row[x] = channel(pixels[x]);
      std::fill(row + last, row + width, black);
      if (window.mirrored) std::reverse(row, row + width);
    }
    plane += height * width;
  }
}

}  // namespace detol::inline trainer

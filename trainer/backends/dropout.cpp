#include "trainer/backends/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/rng.h"

namespace detol::inline trainer {

DropoutDraw draw_of(const DropoutStream& stream, double rate) {
  Rng rng = Rng(stream.seed).split(static_cast<std::uint64_t>(stream.step)).split(stream.node);
  constexpr std::int32_t kCertain = 1 << 16;
  const auto threshold =
      std::min(static_cast<std::int32_t>(std::lround(rate * kCertain)), kCertain - 1);
  const double kept = static_cast<double>(kCertain) / (kCertain - threshold);
  return {rng.next(), threshold, static_cast<float>(kept)};
}

void draw_dropout_mask(const DropoutStream& stream, double rate, const Shape& image,
                       std::span<float> mask) {
  const DropoutDraw draw = draw_of(stream, rate);
  const std::int64_t positions = image.height * image.width;
  const std::int64_t groups = (image.channels + kDropoutGroup - 1) / kDropoutGroup;
  const std::int64_t images = std::ssize(mask) / image.elements();
  Rng rng(draw.key);
  rng.skip(2 * static_cast<std::uint64_t>(stream.first * positions * groups));
  const auto write = [&](std::int64_t first_element, std::int64_t channels) {
    const std::array words{rng.next(), rng.next()};
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto bits = words[static_cast<std::size_t>(c / 4)] >> c % 4 * 16 & 0xffff;
      mask[static_cast<std::size_t>(first_element + c * positions)] =
          static_cast<std::int32_t>(bits) < draw.threshold ? 0.0f : draw.kept;
    }
  };
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t p = 0; p < positions; ++p) {
      for (std::int64_t c = 0; c < image.channels; c += kDropoutGroup)
        write(n * image.elements() + c * positions + p,
              std::min(kDropoutGroup, image.channels - c));
    }
  }
}

}  // namespace detol::inline trainer

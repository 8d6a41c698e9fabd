#include "trainer/data/formats/resize.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace detol::inline trainer {
namespace {

constexpr int kBits = 16;  // of a weight: 255 x 2^16 + 2^15 < 2^24

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>((sum + (1 << (kBits - 1))) >> kBits);
}

}  // namespace

ScaledSide scaled_side(int pixels, int other, int size, PictureFit fit) {
  if (fit == PictureFit::kStretch) return {pixels, size, 0};
  const std::int64_t fitted =
      fit == PictureFit::kCrop ? std::min(pixels, other) : std::max(pixels, other);
  const std::int64_t scaled = (2 * std::int64_t{pixels} * size + fitted) / (2 * fitted);
  const int lines = static_cast<int>(std::max<std::int64_t>(1, scaled));
  return {pixels, lines, (lines - size) / 2};
}

Resizer::Mix Resizer::mix_of(const ScaledSide& side, std::int64_t line) {
  const std::int64_t pixels = side.pixels, scaled = side.scaled;
  if (line < 0 || line >= scaled) return {};
  const std::int64_t centre = (2 * line + 1) * pixels;
  const std::int64_t reach = 2 * std::max(pixels, scaled);
  const std::int64_t first = std::max<std::int64_t>(0, (centre - reach + scaled) / (2 * scaled));
  std::vector<std::int64_t> heights;
  std::int64_t total = 0;
  for (std::int64_t p = first; p < pixels && (2 * p + 1) * scaled < centre + reach; ++p) {
    heights.push_back(reach - std::abs((2 * p + 1) * scaled - centre));
    total += heights.back();
  }
  Mix mix{static_cast<int>(first), {}};
  std::int64_t sum = 0, before = 0;
  for (const std::int64_t height : heights) {
    sum += height;
    const std::int64_t up_to = ((sum << (kBits + 1)) + total) / (2 * total);
    mix.weights.push_back(static_cast<std::int32_t>(up_to - before));
    before = up_to;
  }
  return mix;
}

void Resizer::prepare(std::vector<Mix>& mixes, ScaledSide& prepared, const ScaledSide& side) const {
  if (side == prepared) return;
  mixes.clear();
  for (int i = 0; i < size_; ++i) mixes.push_back(mix_of(side, side.first + i));
  prepared = side;
}

// Resizes one row; writes each channel to its plane.
template <std::size_t kChannels>
void Resizer::shrink_row(const std::uint8_t* from, std::uint8_t* to, std::size_t plane) const {
  for (const Mix& mix : across_) {
    const std::uint8_t* pixel = from + static_cast<std::size_t>(mix.first) * kChannels;
    std::array<std::int32_t, kChannels> sums{};
    for (const std::int32_t weight : mix.weights) {
      for (std::size_t channel = 0; channel < kChannels; ++channel)
        sums[channel] += weight * pixel[channel];
      pixel += kChannels;
    }
    for (std::size_t channel = 0; channel < kChannels; ++channel)
      to[channel * plane] = rounded(sums[channel]);
    ++to;
  }
}

void Resizer::write(const Picture& picture, std::span<std::uint8_t> out) {
  prepare(across_, across_of_, scaled_side(picture.width, picture.height, size_, fit_));
  prepare(down_, down_of_, scaled_side(picture.height, picture.width, size_, fit_));
  int top = picture.height, bottom = 0;
  for (const Mix& mix : down_) {
    if (mix.weights.empty()) continue;
    top = std::min(top, mix.first);
    bottom = std::max(bottom, mix.first + static_cast<int>(mix.weights.size()));
  }
  const auto channels = static_cast<std::size_t>(picture.channels);
  const auto row_bytes = static_cast<std::size_t>(picture.width) * channels;
  const auto rows = static_cast<std::size_t>(bottom - top), side = static_cast<std::size_t>(size_);
  rows_.resize(channels * rows * side);

  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t* from = &picture.bytes[(static_cast<std::size_t>(top) + row) * row_bytes];
    std::uint8_t* to = &rows_[row * side];
    channels == 1 ? shrink_row<1>(from, to, rows * side) : shrink_row<3>(from, to, rows * side);
  }
  sums_.resize(side);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t y = 0; y < side; ++y) {
      const Mix& mix = down_[y];
      std::ranges::fill(sums_, 0);
      const auto skipped = static_cast<std::size_t>(mix.weights.empty() ? 0 : mix.first - top);
      const std::uint8_t* row = &rows_[(channel * rows + skipped) * side];
      for (const std::int32_t weight : mix.weights) {
        for (std::size_t x = 0; x < side; ++x) sums_[x] += weight * row[x];
        row += side;
      }
      std::ranges::transform(sums_, &out[(channel * side + y) * side], rounded);
    }
  }
}

}  // namespace detol::inline trainer

#include "trainer/data/formats/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace detol::inline trainer {
namespace {

constexpr int kBits = 14;
constexpr std::int32_t kOne = 1 << kBits;

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>((sum + kOne / 2) >> kBits);
}

}  // namespace

// Returns the mixes for a side of `from` pixels of a picture whose shorter side has `shorter`. A
// weight is the triangle's height at the pixel's centre; the rounding error is added to the largest
// weight.
std::vector<Resizer::Mix> Resizer::mixes(int from, int shorter, int size) {
  const double scaled = std::round(static_cast<double>(from) * size / shorter);
  const double step = from / scaled;
  const double reach = std::max(1.0, step);
  const double begin = std::floor((scaled - size) / 2);
  std::vector<Mix> lines(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    const double centre = (begin + i + 0.5) * step;
    const int first = std::max(0, static_cast<int>(std::floor(centre - reach + 0.5)));
    const int last = std::min(from, static_cast<int>(std::floor(centre + reach + 0.5)));
    std::vector<double> heights;
    for (int pixel = first; pixel < last; ++pixel)
      heights.push_back(std::max(0.0, 1 - std::abs(pixel + 0.5 - centre) / reach));
    const double sum = std::accumulate(heights.begin(), heights.end(), 0.0);
    Mix& mix = lines[static_cast<std::size_t>(i)];
    mix.first = first;
    for (const double height : heights)
      mix.weights.push_back(static_cast<std::int32_t>(std::lround(height / sum * kOne)));
    *std::ranges::max_element(mix.weights) +=
        kOne - std::accumulate(mix.weights.begin(), mix.weights.end(), 0);
  }
  return lines;
}

void Resizer::prepare(const Shrinking& shrinking) {
  if (shrinking == prepared_) return;
  const int shorter = std::min(shrinking.height, shrinking.width);
  across_ = mixes(shrinking.width, shorter, shrinking.size);
  down_ = mixes(shrinking.height, shorter, shrinking.size);
  prepared_ = shrinking;
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

void Resizer::write(const Picture& picture, int size, std::span<std::uint8_t> out) {
  prepare({picture.height, picture.width, size});
  const int top = down_.front().first;
  const int bottom = down_.back().first + static_cast<int>(down_.back().weights.size());
  const auto channels = static_cast<std::size_t>(picture.channels);
  const auto row_bytes = static_cast<std::size_t>(picture.width) * channels;
  const auto rows = static_cast<std::size_t>(bottom - top), side = static_cast<std::size_t>(size);
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
      const std::uint8_t* row =
          &rows_[(channel * rows + static_cast<std::size_t>(mix.first - top)) * side];
      for (const std::int32_t weight : mix.weights) {
        for (std::size_t x = 0; x < side; ++x) sums_[x] += weight * row[x];
        row += side;
      }
      std::ranges::transform(sums_, &out[(channel * side + y) * side], rounded);
    }
  }
}

}  // namespace detol::inline trainer

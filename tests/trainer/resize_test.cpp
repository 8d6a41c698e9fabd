// The resizer, held to the formula of its header, written down once more without any of its
// shortcuts, and to the real triangle filter that the formula stands for.

#include "trainer/data/formats/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;  // size x pixels

// Returns w[k][p] of the header, of every pixel; rows of lines that are not there are 0.
Matrix weights_of(const ScaledSide& side, int size) {
  const std::int64_t f = side.pixels, s = side.scaled;
  Matrix matrix(static_cast<std::size_t>(size), std::vector<std::int64_t>(side.pixels));
  for (int i = 0; i < size; ++i) {
    const std::int64_t k = side.first + i;
    if (k < 0 || k >= s) continue;
    const auto height = [&](std::int64_t p) {
      return std::max<std::int64_t>(
          0, 2 * std::max(f, s) - std::abs((2 * p + 1) * s - (2 * k + 1) * f));
    };
    std::int64_t total = 0, sum = 0;
    for (std::int64_t p = 0; p < f; ++p) total += height(p);
    const auto rounded = [&](std::int64_t x) { return (131072 * x + total) / (2 * total); };
    for (std::int64_t p = 0; p < f; ++p) {
      matrix[static_cast<std::size_t>(i)][static_cast<std::size_t>(p)] =
          rounded(sum + height(p)) - rounded(sum);
      sum += height(p);
    }
  }
  return matrix;
}

// Returns the heights of the triangle as a real filter has them, of sum 1.
std::vector<double> real_weights(const ScaledSide& side, int line) {
  const double step = double(side.pixels) / side.scaled, reach = std::max(1.0, step);
  std::vector<double> weights;
  double sum = 0;
  for (int p = 0; p < side.pixels; ++p) {
    weights.push_back(std::max(0.0, 1 - std::abs(p + 0.5 - (line + 0.5) * step) / reach));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

struct Sides {
  int height, width, size;
  PictureFit fit;
};

std::vector<std::uint8_t> noise(const Sides& sides, int channels) {
  Rng rng(static_cast<std::uint64_t>(sides.height * 1000 + sides.width * 100 + sides.size));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(sides.height * sides.width * channels));
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(rng.uniform(0, 256));
  return pixels;
}

std::vector<std::uint8_t> resized(const std::vector<std::uint8_t>& pixels, const Sides& sides,
                                  int channels) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(sides.size * sides.size * channels));
  Resizer(sides.size, sides.fit).write({pixels, sides.height, sides.width, channels}, out);
  return out;
}

// Multiplies by the two matrices, rounding to bytes after each.
std::vector<std::uint8_t> by_matrices(const std::vector<std::uint8_t>& pixels, const Sides& sides,
                                      int channels) {
  const auto [height, width, size, fit] = sides;
  const Matrix across = weights_of(scaled_side(width, height, size, fit), size);
  const Matrix down = weights_of(scaled_side(height, width, size, fit), size);
  const auto byte = [](std::int64_t sum) { return (sum + 32768) / 65536; };
  std::vector<std::uint8_t> out;
  for (int c = 0; c < channels; ++c) {
    Matrix rows(static_cast<std::size_t>(height));
    for (int y = 0; y < height; ++y) {
      for (const auto& weights : across) {
        std::int64_t sum = 0;
        for (int x = 0; x < width; ++x)
          sum += weights[static_cast<std::size_t>(x)] *
                 pixels[static_cast<std::size_t>((y * width + x) * channels + c)];
        rows[static_cast<std::size_t>(y)].push_back(byte(sum));
      }
    }
    for (const auto& weights : down) {
      for (std::size_t x = 0; x < static_cast<std::size_t>(size); ++x) {
        std::int64_t sum = 0;
        for (std::size_t y = 0; y < rows.size(); ++y) sum += weights[y] * rows[y][x];
        out.push_back(static_cast<std::uint8_t>(byte(sum)));
      }
    }
  }
  return out;
}

TEST(Resize, GivesWhatItsFormulaSays) {
  const std::vector<int> lengths = {1, 2, 3, 4, 5, 7, 8, 13, 40};
  for (const int height : lengths) {
    for (const int width : lengths) {
      for (const int size : {1, 2, 5, 8, 12}) {
        for (const PictureFitRow& row : picture_fits()) {
          const Sides sides{height, width, size, row.fit};
          const int channels = width % 2 == 0 ? 3 : 1;
          const auto pixels = noise(sides, channels);
          ASSERT_EQ(resized(pixels, sides, channels), by_matrices(pixels, sides, channels))
              << height << " x " << width << " to " << size << " by " << row.name;
        }
      }
    }
  }
}

TEST(Resize, FollowsTheRealTriangleFilter) {
  for (const int pixels : {1, 3, 10, 97, 500, 4000}) {
    for (const int size : {1, 4, 10, 32, 224}) {
      const ScaledSide side = scaled_side(pixels, pixels, size, PictureFit::kStretch);
      const Matrix matrix = weights_of(side, size);
      for (const int line : {0, size / 3, size - 1}) {
        const auto real = real_weights(side, line);
        for (std::size_t p = 0; p < real.size(); ++p) {
          // Both ends of a pixel's share of the running sum are rounded by at most 1/2.
          ASSERT_NEAR(double(matrix[static_cast<std::size_t>(line)][p]), 65536 * real[p], 1.0001)
              << pixels << " to " << size << ", line " << line << ", pixel " << p;
        }
      }
    }
  }
}

TEST(Resize, KeepsThePixelsOfASquareOfItsSize) {
  for (const PictureFitRow& row : picture_fits()) {
    const Sides sides{9, 9, 9, row.fit};
    const auto pixels = noise(sides, 1);
    EXPECT_EQ(resized(pixels, sides, 1), pixels) << row.name;
  }
}

TEST(Resize, KeepsAPlainColourExactly) {
  for (const PictureFit fit : {PictureFit::kCrop, PictureFit::kStretch}) {
    for (const int value : {1, 77, 254, 255}) {
      const std::vector<std::uint8_t> pixels(31 * 200 * 3, static_cast<std::uint8_t>(value));
      for (const int size : {7, 31, 64}) {
        for (const std::uint8_t pixel : resized(pixels, {31, 200, size, fit}, 3))
          ASSERT_EQ(pixel, value);
      }
    }
  }
}

TEST(Resize, CropKeepsTheMiddle) {
  EXPECT_EQ(scaled_side(40, 20, 10, PictureFit::kCrop), (ScaledSide{40, 20, 5}));
  EXPECT_EQ(scaled_side(20, 40, 10, PictureFit::kCrop), (ScaledSide{20, 10, 0}));
  EXPECT_EQ(scaled_side(21, 10, 10, PictureFit::kCrop), (ScaledSide{21, 21, 5}));
  EXPECT_EQ(scaled_side(65535, 1, 4096, PictureFit::kCrop).scaled, 65535 * 4096);
}

TEST(Resize, PadFillsUpWithBlackOnBothSides) {
  EXPECT_EQ(scaled_side(20, 40, 10, PictureFit::kPad), (ScaledSide{20, 5, -2}));
  EXPECT_EQ(scaled_side(40, 20, 10, PictureFit::kPad), (ScaledSide{40, 10, 0}));
  EXPECT_EQ(scaled_side(1, 65535, 8, PictureFit::kPad), (ScaledSide{1, 1, -3}));
  const std::vector<std::uint8_t> white(2 * 4, 255);
  const auto out = resized(white, {2, 4, 4, PictureFit::kPad}, 1);
  EXPECT_EQ(out, (std::vector<std::uint8_t>{0, 0, 0, 0,          //
                                            255, 255, 255, 255,  //
                                            255, 255, 255, 255,  //
                                            0, 0, 0, 0}));
}

TEST(Resize, StretchScalesEachSideForItself) {
  EXPECT_EQ(scaled_side(20, 40, 10, PictureFit::kStretch), (ScaledSide{20, 10, 0}));
}

TEST(Resize, TakesTheLongestSides) {
  const std::vector<std::uint8_t> line(static_cast<std::size_t>(kMostPixelsOfSide), 200);
  for (const PictureFitRow& row : picture_fits()) {
    const auto out = resized(line, {1, kMostPixelsOfSide, 32, row.fit}, 1);
    EXPECT_EQ(out[16 * 32 + 16] + out[15 * 32 + 16], row.fit == PictureFit::kPad ? 200 : 400)
        << row.name;
  }
}

}  // namespace
}  // namespace detol

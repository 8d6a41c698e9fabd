#include "trainer/data/augment.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "trainer/data/batches.h"

namespace detol {
namespace {

// `training` images of 2 x 3 x 3 whose every byte is different within an image; the label is
// the image's number.
Dataset numbered(std::int64_t training) {
  Dataset data;
  data.info = {.task = {.input = {2, 3, 3}, .classes = 100}, .training = training};
  for (std::int64_t i = 0; i < training; ++i) {
    for (int pixel = 0; pixel < 18; ++pixel) {
      data.images.push_back(static_cast<std::uint8_t>(1 + pixel + 20 * (i % 10)));
    }
    data.labels.push_back(static_cast<std::int32_t>(i));
  }
  data.mean = {0.5f, 0.25f};
  data.deviation = {0.5f, 0.125f};
  return data;
}

float normal(int channel, int byte) {
  return static_cast<float>(channel == 0 ? (byte / 255.0 - 0.5) / 0.5
                                         : (byte / 255.0 - 0.25) / 0.125);
}

// Returns the bytes of the first channel that the window shows, row by row.
std::vector<int> seen(const Window& window) {
  const Dataset data = numbered(1);
  std::vector<float> out(18);
  Normaliser(data).write(data, 0, window, out);
  std::vector<int> bytes;
  for (int i = 0; i < 9; ++i) {
    int byte = 0;
    while (std::abs(normal(0, byte) - out[static_cast<std::size_t>(i)]) > 1e-5f && byte < 256)
      ++byte;
    bytes.push_back(byte);
  }
  return bytes;
}

TEST(Augment, NormalisesEachChannelByItsOwnMeanAndDeviation) {
  const Dataset data = numbered(1);
  std::vector<float> out(18);
  Normaliser(data).write(data, 0, out);
  for (int i = 0; i < 18; ++i) {
    EXPECT_NEAR(out[static_cast<std::size_t>(i)], normal(i / 9, i + 1), 1e-6);
  }
}

TEST(Augment, AWindowInPlaceIsTheImage) {
  EXPECT_EQ(seen({}), (std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Augment, AMovedWindowUncoversBlack) {
  EXPECT_EQ(seen({.down = 1, .right = 0}), (std::vector{4, 5, 6, 7, 8, 9, 0, 0, 0}));
  EXPECT_EQ(seen({.down = -1, .right = 1}), (std::vector{0, 0, 0, 2, 3, 0, 5, 6, 0}));
  EXPECT_EQ(seen({.down = 0, .right = -2}), (std::vector{0, 0, 1, 0, 0, 4, 0, 0, 7}));
  EXPECT_EQ(seen({.down = 5, .right = -7}), std::vector<int>(9, 0));
}

TEST(Augment, MirrorsAfterTheCrop) {
  EXPECT_EQ(seen({.mirrored = true}), (std::vector{3, 2, 1, 6, 5, 4, 9, 8, 7}));
  EXPECT_EQ(seen({.right = 1, .mirrored = true}), (std::vector{0, 3, 2, 0, 6, 5, 0, 9, 8}));
}

TEST(Augment, DrawsEveryWindowOfThePaddingAndNoOther) {
  std::set<std::tuple<std::int64_t, std::int64_t, bool>> drawn;
  int mirrored = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Window window = draw_window(Rng(3).split(i), 2, true);
    drawn.insert({window.down, window.right, window.mirrored});
    mirrored += window.mirrored ? 1 : 0;
    EXPECT_LE(std::abs(window.down), 2);
    EXPECT_LE(std::abs(window.right), 2);
    EXPECT_FALSE(draw_window(Rng(3).split(i), 2, false).mirrored);
  }
  EXPECT_EQ(drawn.size(), 50u);
  EXPECT_NEAR(mirrored, 1000, 100) << "every other image";
}

// Returns which of 3 x 4 pixels the square hides (.), row by row; the same in both channels.
std::string behind(const Square& square) {
  std::vector<float> image(24, 1);
  hide(square, {2, 3, 4}, image);
  EXPECT_TRUE(std::equal(image.begin(), image.begin() + 12, image.begin() + 12));
  std::string text;
  for (int i = 0; i < 12; ++i) text += image[static_cast<std::size_t>(i)] == 0 ? '.' : '#';
  return text;
}

TEST(Augment, HidesThePartOfASquareThatLiesInTheImage) {
  EXPECT_EQ(behind({.top = 0, .left = 1, .size = 2}),
            "#..#"
            "#..#"
            "####");
  EXPECT_EQ(behind({.top = -1, .left = -1, .size = 2}), ".###########");
  EXPECT_EQ(behind({.top = 2, .left = 3, .size = 5}), "###########.");
  EXPECT_EQ(behind({.top = -2, .left = -2, .size = 9}), "............");
  EXPECT_EQ(behind({.top = 1, .left = 1, .size = 0}), "############");
}

TEST(Augment, ASquaresCentreIsAnyPixelOfTheImage) {
  std::set<std::pair<std::int64_t, std::int64_t>> corners, expected;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Square square = draw_square(Rng(3).split(i), {2, 3, 4}, 2);
    corners.insert({square.top, square.left});
    EXPECT_NE(behind(square), "############");
  }
  for (std::int64_t top = -1; top <= 1; ++top) {
    for (std::int64_t left = -1; left <= 2; ++left) expected.insert({top, left});
  }
  EXPECT_EQ(corners, expected);
}

// Epoch holds all labels of an epoch, in order, and all its pixels.
struct Epoch {
  std::vector<std::int32_t> labels;
  std::vector<float> images;
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

Epoch epoch_of(Batches& batches, int epoch, std::size_t batch_size) {
  Epoch all;
  std::vector<float> images(batch_size * 18);
  std::vector<std::int32_t> labels(batch_size);
  batches.start_epoch(epoch);
  for (std::int64_t step = 0; step < batches.steps_per_epoch(); ++step) {
    batches.fill(step, {0, std::ssize(labels)}, images, {labels});
    all.labels.insert(all.labels.end(), labels.begin(), labels.end());
    all.images.insert(all.images.end(), images.begin(), images.end());
  }
  return all;
}

const Recipe kAugmented{.batch_size = 8, .crop_padding = 1, .horizontal_flip = true};

TEST(Batches, DropTheLastIncompleteBatchAndRepeatNoImage) {
  const Dataset data = numbered(30);
  Batches batches(data, kAugmented, 1);
  const Epoch epoch = epoch_of(batches, 1, 8);
  EXPECT_EQ(batches.steps_per_epoch(), 3);
  EXPECT_EQ(std::set(epoch.labels.begin(), epoch.labels.end()).size(), 24u);
}

TEST(Batches, AnEpochDoesNotDependOnThoseBefore) {
  const Dataset data = numbered(30);
  Batches all(data, kAugmented, 1), late(data, kAugmented, 1);
  epoch_of(all, 1, 8);
  epoch_of(all, 2, 8);
  EXPECT_EQ(epoch_of(all, 3, 8), epoch_of(late, 3, 8));
}

TEST(Batches, EpochsAndSeedsDiffer) {
  const Dataset data = numbered(30);
  Batches one(data, kAugmented, 1), two(data, kAugmented, 2);
  EXPECT_NE(epoch_of(one, 1, 8).labels, epoch_of(one, 2, 8).labels);
  EXPECT_NE(epoch_of(one, 1, 8).labels, epoch_of(two, 1, 8).labels);
}

TEST(Batches, EveryImageIsMovedAndMirroredByItself) {
  const Dataset data = numbered(30);
  Batches batches(data, kAugmented, 1);
  std::set<std::tuple<int, int, int>> windows;
  for (const EpochImage& image : batches.images_of(1))
    windows.emplace(image.down, image.right, image.mirrored);
  EXPECT_GT(windows.size(), 8u);  // of 24 images
}

TEST(Batches, CutoutLeavesCropsAndFlipsAsTheyWere) {
  const Dataset data = numbered(30);
  Recipe recipe = kAugmented;
  recipe.cutout = 1;
  Batches plain(data, kAugmented, 1), cut(data, recipe, 1);
  const Epoch expected = epoch_of(plain, 1, 8), found = epoch_of(cut, 1, 8);
  int hidden = 0;
  for (std::size_t i = 0; i < expected.images.size(); ++i) {
    if (found.images[i] == expected.images[i]) continue;
    EXPECT_EQ(found.images[i], 0);
    ++hidden;
  }
  EXPECT_EQ(hidden, 24 * 2);  // a pixel of each image, in both channels
}

// Returns the data with its pixels in mapped memory: `block_images` to a block, a gap after each.
Dataset in_blocks(Dataset data, std::size_t block_images) {
  const std::size_t filled = block_images * 18, block = filled + 2;
  auto blocks = std::make_shared<std::vector<std::byte>>();
  for (std::size_t at = 0; at < data.images.size(); at += filled) {
    const auto pixels = std::as_bytes(std::span(data.images)).subspan(at);
    blocks->insert(blocks->end(), pixels.begin(),
                   pixels.begin() + std::ssize(pixels.first(std::min(filled, pixels.size()))));
    blocks->resize(at / filled * block + block);
  }
  data.images = {};
  data.mapped = {
      .blocks = {blocks, blocks->data()}, .block_bytes = block, .block_images = block_images};
  return data;
}

TEST(Batches, AreTheSameWhereverThePixelsLie) {
  const Dataset data = numbered(30), mapped = in_blocks(data, 7);
  Batches owned(data, kAugmented, 1), elsewhere(mapped, kAugmented, 1);
  EXPECT_EQ(epoch_of(elsewhere, 1, 8), epoch_of(owned, 1, 8));
}

TEST(Batches, WithoutAugmentationTheImagesAreTheDataSets) {
  const Dataset data = numbered(8);
  Batches batches(data, {.batch_size = 8}, 1);
  const Epoch epoch = epoch_of(batches, 1, 8);
  std::vector<float> expected(18);
  for (std::size_t i = 0; i < 8; ++i) {
    Normaliser(data).write(data, epoch.labels[i], expected);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           epoch.images.begin() + 18 * static_cast<std::ptrdiff_t>(i)));
  }
}

}  // namespace
}  // namespace detol

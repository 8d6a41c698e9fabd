#include "trainer/data/shuffle.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

constexpr std::size_t kImageBytes = std::size_t{1} << 18;  // four to a block
constexpr ShuffleBounds kSmall{.whole_bytes = 16 * kImageBytes, .window_blocks = 5};

std::vector<std::int64_t> order_of(std::uint64_t seed, std::size_t images) {
  std::vector<std::int64_t> order(images);
  shuffle_images(Rng(seed), kImageBytes, order, kSmall);
  return order;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> order) {
  std::ranges::sort(order);
  return order;
}

TEST(Shuffle, EveryImageComesOnceHoweverLargeTheData) {
  for (const std::size_t images : {1u, 16u, 17u, 98u, 100u, 101u}) {
    std::vector<std::int64_t> all(images);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted(order_of(1, images)), all) << images;
  }
}

TEST(Shuffle, DataThatFitAreOnePermutation) {
  std::vector<std::int64_t> expected(16);
  std::iota(expected.begin(), expected.end(), 0);
  Rng(3).shuffle(std::span(expected));
  EXPECT_EQ(order_of(3, 16), expected);
}

TEST(Shuffle, AWindowOfLargerDataIsOfFewWholeBlocks) {
  const std::vector<std::int64_t> order = order_of(4, 100);
  for (std::size_t first = 0; first < order.size(); first += 20) {
    std::set<std::int64_t> blocks;
    for (std::size_t i = first; i < first + 20; ++i) blocks.insert(order[i] / 4);
    EXPECT_EQ(blocks.size(), 5u);
  }
}

TEST(Shuffle, ImagesOfABlockAreApartInItsWindow) {
  const std::vector<std::int64_t> order = order_of(5, 100);
  int neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1;
  EXPECT_LT(neighbours, 20);  // of 75 in the unshuffled blocks
}

// 25 blocks in windows of five: neighbours in the file seldom share one.
TEST(Shuffle, AWindowIsOfBlocksFromAllOverTheData) {
  int apart = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<std::int64_t> order = order_of(seed, 100);
    const auto [first, last] = std::minmax_element(order.begin(), order.begin() + 20);
    apart += *last - *first >= 40 ? 1 : 0;
  }
  EXPECT_GE(apart, 8) << "of five blocks of 25 that are drawn at random";
}

TEST(Shuffle, SeedsDiffer) {
  EXPECT_NE(order_of(1, 100), order_of(2, 100));
  EXPECT_EQ(order_of(1, 100), order_of(1, 100));
}

}  // namespace
}  // namespace detol

#include "core/rng.h"

#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Rng, IsPhilox4x32WithTenRounds) {
  // The published answer for key 0 and counter 0 (Random123, kat_vectors):
  // 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  Rng rng(0);
  EXPECT_EQ(rng.next(), 0xe169c58d6627e8d5);
  EXPECT_EQ(rng.next(), 0x9b00dbd8bc57ac4c);
}

TEST(Rng, KeepsItsStreamsFromReleaseToRelease) {
  // Stored studies are reproduced only while these values stay the same.
  EXPECT_EQ(Rng(42).next(), 0x77f5493b9ceaf053u);
  EXPECT_EQ(Rng(42).split(7).next(), 0x013cc74cfabab165u);
  Rng rng(1);
  EXPECT_DOUBLE_EQ(rng.normal(), -0.51125409095080354);
  EXPECT_DOUBLE_EQ(rng.uniform(), 0.87411193518713071);
  Rng dice(5);
  std::array<std::uint64_t, 6> thrown{};
  for (std::uint64_t& face : thrown) face = dice.below(10);
  EXPECT_EQ(thrown, (std::array<std::uint64_t, 6>{9, 3, 0, 6, 4, 3}));
}

TEST(Rng, ASplitDoesNotDependOnWhatWasDrawn) {
  Rng fresh(3), used(3);
  for (int i = 0; i < 5; ++i) (void)used.next();
  EXPECT_EQ(fresh.split(11).next(), used.split(11).next());
}

TEST(Rng, SplitsAreDifferentStreams) {
  std::set<std::uint64_t> seen;
  const Rng root(7);
  for (std::uint64_t key = 0; key < 1000; ++key) {
    Rng child = root.split(key);
    seen.insert(child.next());
    seen.insert(child.split(0).next());
  }
  EXPECT_EQ(seen.size(), 2000u);
}

TEST(Rng, NeighbouringSplitsAreUncorrelated) {
  // The correlation of 10,000 independent pairs has a standard deviation of 0.01.
  const Rng root(1);
  const int n = 10'000;
  double sum = 0;
  for (std::uint64_t key = 0; key < n; ++key)
    sum += (root.split(key).uniform() - 0.5) * (root.split(key + 1).uniform() - 0.5);
  EXPECT_LT(std::abs(12 * sum / n), 0.05);
}

TEST(Rng, BelowIsUnbiased) {
  // Six faces of 60,000 throws: each within five standard deviations (91) of 10,000.
  std::array<int, 6> faces{};
  Rng rng(2);
  for (int i = 0; i < 60'000; ++i) ++faces[rng.below(6)];
  for (int count : faces) EXPECT_NEAR(count, 10'000, 5 * 91);
}

TEST(Rng, BelowIsUnbiasedForHugeRanges) {
  // A plain remainder would put half of the words, not a third, into the lowest third.
  Rng rng(4);
  const std::uint64_t third = std::uint64_t{1} << 62;
  int lowest = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t drawn = rng.below(3 * third);
    ASSERT_LT(drawn, 3 * third);
    lowest += drawn < third ? 1 : 0;
  }
  EXPECT_NEAR(lowest, 1000, 5 * 26);
}

TEST(Rng, BelowOneIsZero) {
  Rng rng(4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  Rng rng(6);
  const int n = 100'000;
  double uniform = 0, normal = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u;
    const double z = rng.normal();
    normal += z;
    square += z * z;
  }
  EXPECT_NEAR(uniform / n, 0.5, 0.005);
  EXPECT_NEAR(normal / n, 0, 0.016);
  EXPECT_NEAR(square / n, 1, 0.023);
}

TEST(Rng, ShuffleKeepsTheItemsAndReachesEveryOrder) {
  std::set<std::vector<int>> orders;
  Rng rng(8);
  for (int i = 0; i < 200; ++i) {
    std::vector<int> items = {1, 2, 3};
    rng.shuffle(std::span<int>(items));
    EXPECT_EQ(std::accumulate(items.begin(), items.end(), 0), 6);
    orders.insert(items);
  }
  EXPECT_EQ(orders.size(), 6u);
}

}  // namespace
}  // namespace detol

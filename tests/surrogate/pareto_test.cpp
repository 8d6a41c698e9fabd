#include "surrogate/pareto.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

std::vector<Losses> random_points(std::size_t count, std::size_t objectives, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Losses> points(count, Losses(objectives));
  for (Losses& point : points) {
    for (double& loss : point) loss = rng.uniform();
  }
  return points;
}

// Returns the share of the unit cube that the points dominate, on a grid of `side` cells a side:
// exact where all points lie on the grid.
double by_grid(const std::vector<Losses>& points, std::size_t objectives, std::size_t side) {
  std::size_t cells = 1, dominated = 0;
  for (std::size_t i = 0; i < objectives; ++i) cells *= side;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    Losses centre;
    for (std::size_t i = 0, rest = cell; i < objectives; ++i, rest /= side)
      centre.push_back((static_cast<double>(rest % side) + 0.5) / static_cast<double>(side));
    for (const Losses& point : points) {
      if (!covers(point, centre)) continue;
      ++dominated;
      break;
    }
  }
  return static_cast<double>(dominated) / static_cast<double>(cells);
}

TEST(Dominates, NowhereWorseAndSomewhereBetter) {
  const Losses a{1, 2}, b{1, 3}, c{0, 4};
  EXPECT_TRUE(dominates(a, b));
  EXPECT_FALSE(dominates(b, a));
  EXPECT_FALSE(dominates(a, a));
  EXPECT_FALSE(dominates(a, c));
  EXPECT_FALSE(dominates(c, a));
}

TEST(Nondominated, KeepsThePointsThatNobodyDominatesInTheirOrder) {
  const std::vector<Losses> points{{4, 1}, {3, 3}, {1, 4}, {2, 2}, {4, 4}};
  EXPECT_EQ(nondominated(points), (std::vector<std::size_t>{0, 2, 3}));
}

TEST(Nondominated, KeepsTheFirstOfEqualPoints) {
  const std::vector<Losses> points{{2, 2}, {1, 3}, {1, 3}, {2, 2}};
  EXPECT_EQ(nondominated(points), (std::vector<std::size_t>{0, 1}));
}

TEST(Nondominated, IsWhatComparingAllPairsGives) {
  for (std::size_t objectives = 1; objectives <= 4; ++objectives) {
    const std::vector<Losses> points = random_points(60, objectives, objectives);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool is_dominated = false;
      for (const Losses& other : points) is_dominated |= dominates(other, points[i]);
      if (!is_dominated) expected.push_back(i);
    }
    EXPECT_EQ(nondominated(points), expected) << objectives << " objectives";
  }
}

TEST(Hypervolume, IsTheAreaUnderAStaircase) {
  const std::vector<Losses> points{{4, 1}, {3, 3}, {1, 4}, {2, 2}};
  EXPECT_EQ(hypervolume(points, Losses{5, 5}), 11);
}

TEST(Hypervolume, IsOfOneObjectiveTheDistanceToTheReference) {
  const std::vector<Losses> points{{3}, {2}, {7}};
  EXPECT_EQ(hypervolume(points, Losses{5}), 3);
}

TEST(Hypervolume, IsThatOfTheCellsDominatedOnAGrid) {
  Rng rng(7);
  for (std::size_t objectives = 1; objectives <= 5; ++objectives) {
    std::vector<Losses> points(12, Losses(objectives));
    for (Losses& point : points) {
      for (double& loss : point) loss = static_cast<double>(rng.below(8)) / 8;
    }
    EXPECT_NEAR(hypervolume(points, Losses(objectives, 1.0)), by_grid(points, objectives, 8), 1e-12)
        << objectives << " objectives";
  }
}

TEST(Hypervolume, IgnoresPointsThatTheReferenceDoesNotSee) {
  const std::vector<Losses> points{{1, 1}, {0, 2}, {-9, 3}};
  EXPECT_EQ(hypervolume(points, Losses{2, 2}), 1);
  EXPECT_EQ(hypervolume({}, Losses{2, 2}), 0);
}

}  // namespace
}  // namespace detol

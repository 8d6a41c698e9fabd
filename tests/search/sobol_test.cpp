#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/searcher.h"
#include "search/sobol_points.h"
#include "tests/search/spaces.h"

namespace detol {
namespace {

// Returns the index of the cell that holds a coordinate, of `cells` equal ones.
std::size_t cell_of(double coordinate, std::size_t cells) {
  return static_cast<std::size_t>(coordinate * static_cast<double>(cells));
}

TEST(SobolPoints, EveryCoordinateVisitsEachOfAPowerOfTwoOfCellsOnce) {
  const SobolPoints points(200, 3);
  std::vector<std::set<std::size_t>> cells(200);
  for (std::uint64_t i = 64; i < 128; ++i) {
    const std::vector<double> point = points.point(i);
    for (std::size_t d = 0; d < cells.size(); ++d) cells[d].insert(cell_of(point[d], 64));
  }
  for (std::size_t d = 0; d < cells.size(); ++d) EXPECT_EQ(cells[d].size(), 64u) << d;
}

TEST(SobolPoints, TheFirstTwoCoordinatesAreANet) {
  // Each elementary interval of area 1/64, whatever its shape, holds one of 64 points.
  const SobolPoints points(2, 4);
  for (std::size_t wide = 1; wide <= 64; wide *= 2) {
    std::set<std::vector<std::size_t>> cells;
    for (std::uint64_t i = 0; i < 64; ++i) {
      const std::vector<double> point = points.point(i);
      cells.insert({cell_of(point[0], wide), cell_of(point[1], 64 / wide)});
    }
    EXPECT_EQ(cells.size(), 64u) << wide << " x " << 64 / wide;
  }
}

TEST(SobolPoints, IntegrateBetterThanUniformDraws) {
  // The mean of a product over eight dimensions, which is 1; uniform draws err by 0.02.
  double square = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SobolPoints points(8, seed);
    double sum = 0;
    for (std::uint64_t i = 0; i < 1024; ++i) {
      double product = 1;
      for (double x : points.point(i)) product *= 1 + 0.8 * (x - 0.5);
      sum += product;
    }
    square += (sum / 1024 - 1) * (sum / 1024 - 1);
  }
  EXPECT_LT(std::sqrt(square / 20), 0.005);
}

TEST(SobolPoints, OverSeedsAPointIsUniform) {
  std::vector<int> counts(10);
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    ++counts[cell_of(SobolPoints(3, seed).point(0)[2], counts.size())];
  for (int count : counts) EXPECT_NEAR(count, 200, 60);
}

TEST(SobolPoints, DimensionsWithoutDirectionNumbersAreUniform) {
  const SobolPoints points(4000, 1);
  const std::vector<double> first = points.point(0), second = points.point(1);
  ASSERT_EQ(first.size(), 4000u);
  EXPECT_NE(first[3999], second[3999]);
  double sum = 0;
  for (std::size_t d = 3700; d < 4000; ++d) sum += first[d];
  EXPECT_NEAR(sum / 300, 0.5, 0.07);
}

TEST(Sobol, TriesEveryCategoryEquallyOften) {
  const Space space = SpaceBuilder()
                          .add_categorical("op", {"a", "b", "c", "d"})
                          .add_float("lr", 1e-4, 1, {.log = true})
                          .build()
                          .value();
  const auto searcher =
      make_searcher("sobol", space, {.seed = 5, .objectives = {minimize("loss")}, .options = {}})
          .value();
  std::vector<int> counts(4);
  for (const Trial& trial : searcher->ask(0, 16))
    ++counts[static_cast<std::size_t>(trial.genome.codes()[0])];
  EXPECT_EQ(counts, (std::vector<int>{4, 4, 4, 4}));
}

TEST(Sobol, AskNumberNGivesPointN) {
  const Space space = testing_support::wide_space(10);
  const auto searcher =
      make_searcher("sobol", space, {.seed = 5, .objectives = {minimize("loss")}, .options = {}})
          .value();
  (void)searcher->ask(0, 3);
  EXPECT_EQ(searcher->ask(77, 1).at(0).genome, space.at(SobolPoints(10, 5).point(77)));
}

}  // namespace
}  // namespace detol

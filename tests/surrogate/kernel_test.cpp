#include "surrogate/kernel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/surrogate/dense.h"
#include "tests/surrogate/mixed_points.h"

namespace detol {
namespace {

TEST(Kernel, IsSymmetricAndPositiveSemiDefiniteOnMixedPoints) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Space space = seed % 2 == 0 ? mixed_space() : space_with_graphs();
    const Features features(space);
    Rng rng(seed);
    const std::size_t n = 40;
    const Points points = random_points(space, features, n, rng);
    const Kernel kernel(features, random_parameters(features, rng));
    std::vector<double> gram(n * n);
    for (std::size_t i = 0; i < n; ++i)
      kernel.row(points[i], points, std::span(gram).subspan(i * n, n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_NEAR(gram[i * n + j], gram[j * n + i], 1e-15) << "seed " << seed;
    for (std::size_t i = 0; i < n; ++i) gram[i * n + i] += 1e-10;
    for (double entry : dense::factor(gram, n)) EXPECT_FALSE(std::isnan(entry)) << "seed " << seed;
  }
}

TEST(Kernel, IsItsVarianceOfAPointWithItself) {
  const Space space = mixed_space();
  const Features features(space);
  Rng rng(1);
  const Points points = random_points(space, features, 10, rng);
  const Kernel kernel(features, random_parameters(features, rng));
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<double> row(points.size());
    kernel.row(points[i], points, row);
    EXPECT_DOUBLE_EQ(row[i], kernel.variance());
  }
}

TEST(Kernel, HasTheSameRowsAgainstIndexedGraphs) {
  const Space space = space_with_graphs();
  const Features features(space);
  Rng rng(3);
  const Points points = random_points(space, features, 30, rng);
  Points indexed = random_points(space, features, 5, rng);
  indexed.index_graphs();
  indexed.truncate(0);
  for (std::size_t i = 0; i < points.size(); ++i) indexed.push_back(points[i]);
  indexed.push_back(features.of(space.sample(rng)));
  indexed.truncate(points.size());
  for (int depth = 0; depth < GraphFeatures::kLevels; ++depth) {
    KernelParameters parameters = random_parameters(features, rng);
    parameters.depth = depth;
    const Kernel kernel(features, parameters);
    const Point x = features.of(space.sample(rng));
    std::vector<double> row(20), fast(20);
    kernel.row(x, points, row);
    kernel.row(x, indexed, fast);
    EXPECT_EQ(row, fast) << "depth " << depth;
  }
}

TEST(Kernel, APartOfARowIsTheSameToTheLastBit) {
  for (const Space& space : {mixed_space(), space_with_graphs()}) {
    const Features features(space);
    Rng rng(4);
    const Points points = random_points(space, features, 21, rng);
    const Kernel kernel(features, random_parameters(features, rng));
    const Point x = features.of(space.sample(rng));
    std::vector<double> row(points.size());
    kernel.row(x, points, row);
    for (std::size_t first : {0, 1, 7, 20, 21}) {
      std::vector<double> part(points.size() - first);
      kernel.row(x, points, part, first);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), row.begin() + static_cast<int>(first)));
    }
  }
}

// Checks the gradient in the numeric columns at one point.
void expect_gradient_of_differences(const Space& space) {
  const Features features(space);
  Rng rng(2);
  const Points points = random_points(space, features, 15, rng);
  const Kernel kernel(features, random_parameters(features, rng));
  const std::vector<double> weights = random_normals(points.size(), rng);
  const auto value = [&](const Point& x) {
    std::vector<double> row(points.size());
    kernel.row(x, points, row);
    return dense::dot(row, weights);
  };
  const Point x = features.of(space.sample(rng));
  const std::vector<double> gradient = kernel.gradient(x, points, weights);
  for (std::size_t i = 0; i < x.numbers.size(); ++i) {
    Point more = x, less = x;
    more.numbers[i] += 1e-5;
    less.numbers[i] -= 1e-5;
    EXPECT_NEAR(gradient[i], (value(more) - value(less)) / 2e-5, 1e-6) << "column " << i;
  }
}

TEST(Kernel, HasTheGradientOfDifferencesOnMixedPoints) {
  expect_gradient_of_differences(mixed_space());
}

TEST(Kernel, HasTheGradientOfDifferencesOnGraphs) {
  expect_gradient_of_differences(space_with_graphs());
}

// An inactive number is equally far from an active one of any value.
TEST(Kernel, HoldsAnInactiveNumberEquallyFarFromEveryValue) {
  const Space space =
      SpaceBuilder().add_bool("on").add_float("x", 0, 1, {.when = {"on", {true}}}).build().value();
  const Features features(space);
  const auto of = [&](std::vector<double> codes) {
    Rng rng(0);
    return features.of(space.repair(std::move(codes), rng));
  };
  Points points = features.empty_points();
  for (double x : {0.0, 0.3, 1.0}) points.push_back(of({1, x}));
  std::vector<double> row(points.size());
  Kernel(features, default_parameters(features)).row(of({0, 0}), points, row);
  EXPECT_NEAR(row[0], row[1], 1e-12);
  EXPECT_NEAR(row[0], row[2], 1e-12);
}

TEST(KernelParameters, ComeBackFromTheirNumbers) {
  const Features features(mixed_space());
  Rng rng(3);
  KernelParameters parameters = random_parameters(features, rng);
  parameters.depth = 3;
  EXPECT_EQ(from_numbers(to_numbers(parameters), features), parameters);
}

}  // namespace
}  // namespace detol

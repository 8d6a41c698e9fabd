#include "surrogate/fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/surrogate/dense.h"
#include "tests/surrogate/mixed_points.h"

namespace detol {
namespace {

// Returns the values at `points` of one function drawn from the Gaussian process.
std::vector<double> drawn(const Features& features, const Points& points,
                          const KernelParameters& parameters, Rng& rng) {
  const std::size_t n = points.size();
  std::vector<double> gram = Kernel(features, parameters).gram(points);
  for (std::size_t i = 0; i < n; ++i) gram[i * n + i] += parameters.noise;
  const std::vector<double> lower = dense::factor(gram, n), normals = random_normals(n, rng);
  std::vector<double> values(n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) values[i] += lower[i * n + j] * normals[j];
  return values;
}

TEST(Fit, RecoversTheLengthsOfADrawnFunction) {
  const Space space = cube(3);
  const Features features(space);
  Rng rng(4);
  const Points points = random_points(space, features, 200, rng);
  KernelParameters truth = default_parameters(features);
  truth.lengths = {0.2, 0.6, 4};
  truth.noise = 1e-3;
  const std::vector<double> y = drawn(features, points, truth, rng);
  const FitResult fitted = fit(features, points, y, default_parameters(features));
  EXPECT_NEAR(std::log(fitted.parameters.lengths[0]), std::log(0.2), 0.4);
  EXPECT_NEAR(std::log(fitted.parameters.lengths[1]), std::log(0.6), 0.4);
  EXPECT_GT(fitted.parameters.lengths[2], 1.5);
  EXPECT_LT(std::abs(std::log(fitted.parameters.noise / truth.noise)), 0.7);
}

// A few points of many axes cannot say which of them matter.
TEST(Fit, PoolsLengthsThatFewObservationsDoNotTellApart) {
  const Space space = cube(12);
  const Features features(space);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Rng rng(seed);
    const Points points = random_points(space, features, 40, rng);
    KernelParameters truth = default_parameters(features);
    truth.lengths.assign(12, 1.5);
    const std::vector<double> y = drawn(features, points, truth, rng);
    const std::vector<double> lengths =
        fit(features, points, y, default_parameters(features)).parameters.lengths;
    const auto [least, most] = std::ranges::minmax(lengths);
    EXPECT_LT(most / least, 3.2) << "seed " << seed;
  }
}

// The slope of the first axis along the second is what the function was drawn with, although no
// axis of it is one of the space.
TEST(Fit, FindsAValleyAcrossTheAxes) {
  const Space space = cube(3);
  const Features features(space);
  Rng rng(15);
  const Points points = random_points(space, features, 150, rng);
  KernelParameters truth = default_parameters(features);
  truth.lengths = {2, 0.2, 2};
  truth.shears = {-0.7, 0, 0};
  const std::vector<double> y = drawn(features, points, truth, rng);
  const KernelParameters fitted = fit(features, points, y, default_parameters(features)).parameters;
  EXPECT_NEAR(fitted.shears[0], -0.7, 0.1);
  EXPECT_NEAR(std::log(fitted.lengths[1]), std::log(0.2), 0.4);
}

TEST(Fit, HasNoShearsWhereTheAxesAreThoseOfTheFunction) {
  const Space space = cube(4);
  const Features features(space);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng(seed);
    const Points points = random_points(space, features, 60, rng);
    KernelParameters truth = default_parameters(features);
    truth.lengths = {0.3, 0.5, 1, 2};
    const std::vector<double> y = drawn(features, points, truth, rng);
    for (const KernelParameters& start :
         {default_parameters(features), random_parameters(features, rng)})
      EXPECT_FALSE(has_shears(fit(features, points, y, start).parameters)) << "seed " << seed;
  }
}

TEST(Fit, TellsACategoryThatMattersFromOneThatDoesNot) {
  const Space space = SpaceBuilder()
                          .add_float("x", 0, 1)
                          .add_categorical("matters", {"a", "b", "c"})
                          .add_categorical("idle", {"a", "b", "c"})
                          .build()
                          .value();
  const Features features(space);
  Rng rng(5);
  const Points points = random_points(space, features, 150, rng);
  KernelParameters truth = default_parameters(features);
  truth.penalties = {3, 1e-4};
  const std::vector<double> y = drawn(features, points, truth, rng);
  const KernelParameters fitted = fit(features, points, y, default_parameters(features)).parameters;
  EXPECT_GT(fitted.penalties[0], 5 * fitted.penalties[1]);
}

TEST(Fit, FindsWhatTheGraphsExplain) {
  const Space space = space_with_graphs();
  const Features features(space);
  Rng rng(13);
  const Points points = random_points(space, features, 100, rng);
  KernelParameters truth = default_parameters(features);
  truth.numbers = truth.both = 1e-4;
  truth.graphs = 1;
  const std::vector<double> y = drawn(features, points, truth, rng);
  const KernelParameters fitted = fit(features, points, y, default_parameters(features)).parameters;
  EXPECT_GT(fitted.graphs, 5 * (fitted.numbers + fitted.both));
}

TEST(Fit, FindsTheDepthOfTheGraphsFromWhicheverItStarts) {
  const Space space = space_with_graphs();
  const Features features(space);
  Rng rng(14);
  const Points points = random_points(space, features, 100, rng);
  KernelParameters truth = default_parameters(features);
  truth.depth = 0;
  truth.graphs = 3;
  const std::vector<double> y = drawn(features, points, truth, rng);
  for (int depth = 0; depth < GraphFeatures::kLevels; ++depth) {
    KernelParameters start = default_parameters(features);
    start.depth = depth;
    EXPECT_EQ(fit(features, points, y, start).parameters.depth, truth.depth);
  }
}

TEST(Fit, FindsAMaximum) {
  const Space space = mixed_space();
  const Features features(space);
  Rng rng(6);
  const Points points = random_points(space, features, 80, rng);
  const std::vector<double> y = drawn(features, points, random_parameters(features, rng), rng);
  const FitResult fitted = fit(features, points, y, default_parameters(features));
  const Posterior there = log_posterior(features, points, y, fitted.parameters);
  EXPECT_DOUBLE_EQ(there.log_density, fitted.log_posterior);
  for (double slope : there.gradient) EXPECT_LT(std::abs(slope), 1);
  EXPECT_GT(fitted.log_posterior,
            log_posterior(features, points, y, default_parameters(features)).log_density);
}

TEST(Fit, IsNeverWorseThanItsStart) {
  const Space space = cube(3);
  const Features features(space);
  Rng rng(7);
  const Points points = random_points(space, features, 30, rng);
  const std::vector<double> y = random_normals(30, rng);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    KernelParameters start = random_parameters(features, rng);
    for (const bool is_sheared : {true, false}) {
      if (!is_sheared) start.shears.assign(features.shears(), 0);
      const FitResult fitted = fit(features, points, y, start, {.max_evaluations = 6});
      EXPECT_GE(fitted.log_posterior, log_posterior(features, points, y, start).log_density);
      EXPECT_LE(fitted.evaluations, 6);
    }
  }
}

TEST(Fit, KeepsTheNoiseAboveItsFloor) {
  const Space space = cube(1);
  const Features features(space);
  Points points = features.empty_points();
  std::vector<double> y;
  for (int i = 0; i < 40; ++i) {
    points.push_back({.numbers = {i / 40.0}, .categories = {}, .graph = nullptr});
    y.push_back(2 * std::sin(i / 10.0));  // noiseless
  }
  const FitResult fitted =
      fit(features, points, y, default_parameters(features), {.least_noise = 1e-4});
  EXPECT_NEAR(fitted.parameters.noise, 1e-4, 1e-12);
}

TEST(Fit, BearsCopiesOfPoints) {
  const Space space = mixed_space();
  const Features features(space);
  Rng rng(8);
  Points points = random_points(space, features, 20, rng);
  for (std::size_t i = 0; i < 50; ++i) points.push_back(points[i % 3]);
  std::vector<double> y = random_normals(20, rng);
  for (std::size_t i = 0; i < 50; ++i) y.push_back(y[i % 3]);
  for (double floor : {1e-6, 1e-10, 0.0}) {
    const FitResult fitted =
        fit(features, points, y, default_parameters(features), {.least_noise = floor});
    EXPECT_TRUE(std::isfinite(fitted.log_posterior)) << floor;
    EXPECT_GT(fitted.log_posterior,
              log_posterior(features, points, y, default_parameters(features)).log_density);
  }
}

TEST(Fit, HasAnAnswerWhateverItStartsFrom) {
  const Space space = cube(2);
  const Features features(space);
  Rng rng(9);
  const Points points = random_points(space, features, 12, rng);
  const std::vector<double> y = random_normals(12, rng);
  for (double wild : {0.0, 1e-300, 1e300, -1.0}) {
    KernelParameters start = default_parameters(features);
    start.lengths[0] = start.numbers = start.noise = wild;
    const FitResult fitted = fit(features, points, y, start);
    EXPECT_TRUE(std::isfinite(fitted.log_posterior)) << wild;
  }
}

TEST(Fit, OfOneObservationFollowsThePrior) {
  const Space space = cube(2);
  const Features features(space);
  Rng rng(10);
  const Points points = random_points(space, features, 1, rng);
  const KernelParameters fitted =
      fit(features, points, std::vector<double>{0}, default_parameters(features)).parameters;
  for (double length : fitted.lengths) EXPECT_NEAR(length, 1, 0.1);
}

TEST(SteppedFit, EndsWhereFitDoesWhateverTheSteps) {
  const Space space = mixed_space();
  const Features features(space);
  Rng rng(12);
  const Points points = random_points(space, features, 30, rng);
  const std::vector<double> y = random_normals(30, rng);
  const KernelParameters start = random_parameters(features, rng);
  const FitResult whole = fit(features, points, y, start);
  for (int evaluations : {1, 4, 1000}) {
    SteppedFit stepped(features, points, y, start);
    int steps = 1;
    while (!stepped.advance(evaluations)) ++steps;
    EXPECT_EQ(stepped.result().parameters, whole.parameters);
    EXPECT_EQ(stepped.result().evaluations, whole.evaluations);
    EXPECT_EQ(steps, (whole.evaluations + evaluations - 1) / evaluations);
  }
}

TEST(Fit, IsTheSameEachTime) {
  const Space space = mixed_space();
  const Features features(space);
  Rng rng(11);
  const Points points = random_points(space, features, 40, rng);
  const std::vector<double> y = random_normals(40, rng);
  const FitResult one = fit(features, points, y, default_parameters(features));
  const FitResult other = fit(features, points, y, default_parameters(features));
  EXPECT_EQ(one.parameters, other.parameters);
}

}  // namespace
}  // namespace detol

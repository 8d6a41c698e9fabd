#include "surrogate/pathwise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/surrogate/mixed_points.h"

namespace detol {
namespace {

LazyGp some_process(const Space& space, std::size_t count, double noise) {
  const Features features(space);
  Rng rng(3);
  KernelParameters parameters = random_parameters(features, rng);
  parameters.noise = noise;
  const Points points = random_points(space, features, count, rng);
  return {features, parameters, points, random_normals(count, rng)};
}

Points some_points(const Space& space, std::size_t count) {
  Rng rng(4);
  return random_points(space, Features(space), count, rng);
}

// Returns the absolute posterior covariance of a and b: observing a lowers the variance of b.
double covariance(LazyGp& process, const Point& a, const Point& b) {
  const std::size_t observations = process.observations();
  const double noise = process.kernel().parameters().noise;
  const Prediction at = process.predict(a);
  const double before = process.predict(b).variance;
  process.append(a, at.mean);
  const double reduction = before - process.predict(b).variance;
  process.truncate(observations);
  return std::sqrt(std::max(0.0, reduction * (at.variance + noise)));
}

// Compares the mean, variance and covariance of many samples with the posterior's.
void expect_moments(LazyGp& process, const Points& points,
                    const std::function<std::vector<double>(Rng)>& sample, double tolerance) {
  constexpr int kSamples = 1500;
  const std::size_t m = points.size();
  std::vector<double> sums(m), products(m * m);
  for (int s = 0; s < kSamples; ++s) {
    const std::vector<double> values = sample(Rng(17).split(static_cast<std::uint64_t>(s)));
    for (std::size_t i = 0; i < m; ++i) {
      sums[i] += values[i] / kSamples;
      for (std::size_t j = 0; j < m; ++j) products[i * m + j] += values[i] * values[j] / kSamples;
    }
  }
  for (std::size_t i = 0; i < m; ++i) {
    const Prediction at = process.predict(points[i]);
    EXPECT_NEAR(sums[i], at.mean, tolerance) << "point " << i;
    EXPECT_NEAR(products[i * m + i] - sums[i] * sums[i], at.variance, tolerance) << "point " << i;
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NEAR(std::abs(products[i * m + j] - sums[i] * sums[j]),
                  covariance(process, points[i], points[j]), tolerance)
          << "points " << i << " and " << j;
    }
  }
}

TEST(PathwiseSample, HasThePosteriorsMeanAndCovariance) {
  const Space space = cube(2);
  LazyGp process = some_process(space, 6, 0.05);
  const Points points = some_points(space, 4);
  expect_moments(
      process, points, [&](Rng rng) { return PathwiseSample(process, rng).values(points); }, 0.08);
}

TEST(PathwiseSample, TakesNoisyObservationsForNoMoreThanTheyAre) {
  const Space space = cube(2);
  LazyGp process = some_process(space, 6, 1);  // as much noise as variance of the function
  Points points = some_points(space, 2);
  points.push_back(process.points()[0]);  // observed itself, where the noise matters most
  points.push_back(process.points()[1]);
  expect_moments(
      process, points, [&](Rng rng) { return PathwiseSample(process, rng).values(points); }, 0.08);
}

TEST(PathwiseSample, OfNoObservationsHasThePriorsMoments) {
  const Space space = cube(1);
  const Features features(space);
  LazyGp process(features, default_parameters(features));
  const Points points = some_points(space, 4);
  expect_moments(
      process, points, [&](Rng rng) { return PathwiseSample(process, rng).values(points); }, 0.08);
}

TEST(PathwiseSample, GoesThroughObservationsWithoutNoise) {
  const LazyGp process = some_process(cube(3), 20, 1e-10);
  const std::vector<double> values = PathwiseSample(process, Rng(5)).values(process.points());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], process.outcomes()[i], 1e-3);
}

TEST(PathwiseSample, IsAFunctionOfTheProcessAndTheStream) {
  const Space space = cube(2);
  const LazyGp process = some_process(space, 10, 1e-3);
  const Points points = some_points(space, 5);
  const auto values = [&](std::uint64_t seed) {
    return PathwiseSample(process, Rng(seed)).values(points);
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

TEST(PathwiseSample, ExistsWhereTheKernelSeesNumbersAlone) {
  EXPECT_TRUE(has_pathwise_samples(some_process(cube(2), 3, 1e-3)));
  EXPECT_FALSE(has_pathwise_samples(some_process(mixed_space(), 3, 1e-3)));
  EXPECT_FALSE(has_pathwise_samples(some_process(space_with_graphs(), 3, 1e-3)));
}

TEST(JointPosterior, OfAMixedSpaceHasThePosteriorsMeanAndCovariance) {
  const Space space = mixed_space();
  LazyGp process = some_process(space, 8, 0.05);
  const Points points = some_points(space, 4);
  const JointPosterior posterior(process, points);
  expect_moments(
      process, points, [&](Rng rng) { return posterior.sample(rng); }, 0.08);
}

TEST(JointPosterior, OfASpaceWithGraphsHasThePosteriorsMeanAndCovariance) {
  const Space space = space_with_graphs();
  LazyGp process = some_process(space, 8, 0.05);
  const Points points = some_points(space, 4);
  const JointPosterior posterior(process, points);
  expect_moments(
      process, points, [&](Rng rng) { return posterior.sample(rng); }, 0.08);
}

TEST(JointPosterior, GivesEqualCandidatesEqualValuesAndObservationsWithoutNoiseTheirs) {
  const Space space = mixed_space();
  const LazyGp process = some_process(space, 8, 1e-10);
  Points points = some_points(space, 3);
  points.push_back(points[0]);
  points.push_back(process.points()[2]);
  const std::vector<double> values = sample_at(process, points, Rng(8));
  EXPECT_NEAR(values[3], values[0], 1e-6);
  EXPECT_NEAR(values[4], process.outcomes()[2], 1e-4);
}

}  // namespace
}  // namespace detol

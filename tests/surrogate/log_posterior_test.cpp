// Tests of the density that a fit maximises; those of the fit are in fit_test.cpp.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "surrogate/fit.h"
#include "tests/surrogate/dense.h"
#include "tests/surrogate/mixed_points.h"

namespace detol {
namespace {

// Returns the sum of squared deviations from the mean.
double deviation_squares(std::vector<double> values) {
  double mean = 0, squares = 0;
  for (double value : values) mean += value / static_cast<double>(values.size());
  for (double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

// Returns the prior of lengths and penalties together.
double plain_pooling(const KernelParameters& parameters) {
  std::vector<double> lengths, penalties;
  for (double l : parameters.lengths) lengths.push_back(std::log(l));
  for (double w : parameters.penalties) penalties.push_back(-std::log(w) / 2);
  double free = 0;
  for (const auto* each : {&lengths, &penalties})
    free -= each->empty() ? 0 : 0.5 * static_cast<double>(each->size() - 1);
  return std::max(free, -(deviation_squares(lengths) + deviation_squares(penalties)) / 0.6);
}

// Returns the prior of at most 20 lengths and penalties, as surrogate/fit_prior.h defines it.
double plain_prior(const KernelParameters& parameters, std::size_t observations) {
  const double a = parameters.numbers, b = parameters.graphs, c = parameters.both, v = a + b + c;
  double sum = std::log(v) - v + 0.1 * std::log(parameters.noise) - 30 * parameters.noise;
  if (b > 0) sum += 0.5 * std::log(a * b * c / (v * v * v));
  for (double l : parameters.lengths) sum -= 0.1 * (l * l + 1 / (l * l));
  for (double w : parameters.penalties) sum -= 0.1 * (1 / w + w);
  if (!has_shears(parameters)) return sum + plain_pooling(parameters);
  for (double u : parameters.shears)
    sum -= 2 * std::log(1 + u * u / 3) + 0.5 * std::log(static_cast<double>(observations));
  return sum;
}

// Returns log N(y; m 1, K), with m by generalised least squares.
double plain_likelihood(const Features& features, const Points& points,
                        const std::vector<double>& y, const KernelParameters& parameters) {
  const std::size_t n = y.size();
  std::vector<double> gram = Kernel(features, parameters).gram(points);
  for (std::size_t i = 0; i < n; ++i) gram[i * n + i] += parameters.noise;
  const std::vector<double> lower = dense::factor(gram, n);
  const std::vector<double> ones(n, 1), solved_ones = dense::solve(lower, ones);
  const double mean = dense::dot(solved_ones, y) / dense::dot(solved_ones, ones);
  std::vector<double> residual = y;
  for (double& value : residual) value -= mean;
  double sum = -0.5 * dense::dot(residual, dense::solve(lower, residual));
  for (std::size_t i = 0; i < n; ++i)
    sum -= std::log(lower[i * n + i]) + 0.5 * std::log(2 * std::numbers::pi);
  return sum;
}

double log_posterior_of(const Features& features, const Points& points,
                        const std::vector<double>& y, const KernelParameters& parameters) {
  return log_posterior(features, points, y, parameters).log_density;
}

// Compares with central differences of all parameters but the last, the depth: in their logarithms,
// but in the shears themselves.
void expect_gradient_of_differences(const Features& features, const Points& points,
                                    const std::vector<double>& y,
                                    const KernelParameters& parameters) {
  const std::vector<double> gradient = log_posterior(features, points, y, parameters).gradient;
  const std::vector<double> numbers = to_numbers(parameters);
  ASSERT_EQ(gradient.size() + 1, numbers.size());
  const double step = 1e-4;
  const std::size_t first_shear = features.lengths() + features.category_columns();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    std::vector<double> more = numbers, less = numbers;
    if (i >= first_shear && i < first_shear + features.shears()) {
      if (numbers[i] == 0) continue;  // a shear has a charge that none does not have
      more[i] += step;
      less[i] -= step;
    } else {
      more[i] *= std::exp(step);
      less[i] *= std::exp(-step);
    }
    const double difference =
        (log_posterior_of(features, points, y, from_numbers(more, features)) -
         log_posterior_of(features, points, y, from_numbers(less, features))) /
        (2 * step);
    EXPECT_NEAR(gradient[i], difference, 1e-5 * std::max(1.0, std::abs(difference)))
        << "parameter " << i;
  }
}

TEST(LogPosterior, EqualsADenseComputation) {
  for (const Space& space : {mixed_space(), space_with_graphs()}) {
    const Features features(space);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Rng rng(seed);
      const std::size_t n = 1 + rng.below(80);
      const Points points = random_points(space, features, n, rng);
      const std::vector<double> y = random_normals(n, rng);
      const KernelParameters sheared = random_parameters(features, rng);
      KernelParameters apart = sheared;
      apart.shears.assign(features.shears(), 0);
      KernelParameters alike = apart;
      for (double& length : alike.lengths) length = rng.uniform(0.9, 1.1);
      for (double& penalty : alike.penalties) penalty = rng.uniform(0.9, 1.1);
      for (const KernelParameters& each : {sheared, apart, alike}) {
        const double expected = plain_likelihood(features, points, y, each) + plain_prior(each, n);
        EXPECT_NEAR(log_posterior_of(features, points, y, each), expected,
                    1e-8 * std::max(1.0, std::abs(expected)))
            << "seed " << seed;
      }
    }
  }
}

TEST(LogPosterior, HasTheGradientOfDifferencesOnNumbers) {
  const Space space = cube(4);
  const Features features(space);
  Rng rng(1);
  const Points points = random_points(space, features, 60, rng);
  expect_gradient_of_differences(features, points, random_normals(60, rng),
                                 random_parameters(features, rng));
}

TEST(LogPosterior, HasTheGradientOfDifferencesOnMixedAndConditionalChoices) {
  const Space space = mixed_space();
  const Features features(space);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Rng rng(seed);
    const Points points = random_points(space, features, 57, rng);
    expect_gradient_of_differences(features, points, random_normals(57, rng),
                                   random_parameters(features, rng));
  }
}

// Without shears: of lengths that are about alike, and of others, to which pooling is no prior.
TEST(LogPosterior, HasTheGradientOfDifferencesWhetherLengthsArePooledOrNot) {
  const Space space = mixed_space();
  const Features features(space);
  for (double apart : {0.1, 2.0}) {
    Rng rng(16);
    const Points points = random_points(space, features, 57, rng);
    KernelParameters parameters = random_parameters(features, rng);
    parameters.shears.assign(features.shears(), 0);
    for (double& length : parameters.lengths) length = std::exp(rng.uniform(-apart, apart));
    for (double& penalty : parameters.penalties) penalty = std::exp(rng.uniform(-apart, apart));
    expect_gradient_of_differences(features, points, random_normals(57, rng), parameters);
  }
}

TEST(LogPosterior, HasTheGradientOfDifferencesOnGraphs) {
  const Space space = space_with_graphs();
  const Features features(space);
  Rng rng(12);
  const Points points = random_points(space, features, 57, rng);
  for (int depth = 0; depth < GraphFeatures::kLevels; ++depth) {
    KernelParameters parameters = random_parameters(features, rng);
    parameters.depth = depth;
    expect_gradient_of_differences(features, points, random_normals(57, rng), parameters);
  }
}

TEST(LogPosterior, HasTheGradientOfDifferencesInManyDimensions) {
  const Space space = cube(25);
  const Features features(space);
  Rng rng(2);
  const Points points = random_points(space, features, 110, rng);
  expect_gradient_of_differences(features, points, random_normals(110, rng),
                                 random_parameters(features, rng));
}

TEST(LogPosterior, IsMinusInfinityWhereThereIsNoProcess) {
  const Space space = cube(2);
  const Features features(space);
  Rng rng(3);
  Points points = random_points(space, features, 1, rng);
  for (int i = 0; i < 20; ++i) points.push_back(points[0]);
  KernelParameters parameters = default_parameters(features);
  parameters.noise = 1e-30;
  const Posterior posterior = log_posterior(features, points, random_normals(21, rng), parameters);
  EXPECT_EQ(posterior.log_density, -std::numeric_limits<double>::infinity());
  for (double slope : posterior.gradient) EXPECT_EQ(slope, 0);
}

}  // namespace
}  // namespace detol

// The Gaussian process of scikit-learn 1.2.1, on twelve points rounded to three digits:
//
//   kernel = ConstantKernel(1.7) * Matern([0.3, 0.8, 2.5], nu=2.5)
//   K = kernel(X) + 1e-3 * eye(12);  m = sum(inv(K) @ y) / sum(inv(K))
//   GaussianProcessRegressor(kernel, alpha=1e-3, optimizer=None).fit(X, y - m)
//
// then predict(T, return_std=True) and log_marginal_likelihood_value_. Its prior mean is zero and
// ours is the generalised least squares mean m, which is therefore subtracted from y.
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "surrogate/lazy_gp.h"
#include "tests/surrogate/mixed_points.h"

namespace detol {
namespace {

struct Observation {
  std::array<double, 3> x;
  double y;
};
constexpr Observation kObserved[] = {
    {{0.551, 0.708, 0.291}, 1.162},  {{0.511, 0.893, 0.896}, 1.24},
    {{0.126, 0.207, 0.051}, 0.5},    {{0.441, 0.03, 0.457}, 0.754},
    {{0.649, 0.278, 0.676}, 0.258},  {{0.591, 0.024, 0.559}, 0.423},
    {{0.259, 0.415, 0.284}, 0.891},  {{0.693, 0.44, 0.157}, 0.476},
    {{0.545, 0.78, 0.306}, 1.276},   {{0.222, 0.388, 0.936}, 0.458},
    {{0.976, 0.672, 0.903}, -0.691}, {{0.846, 0.378, 0.092}, -0.143}};

struct Expected {
  std::array<double, 3> x;
  double mean, deviation;
};
constexpr Expected kExpected[] = {{{0.653, 0.558, 0.362}, 0.645698827391, 0.164363361805},
                                  {{0.225, 0.407, 0.469}, 0.701725592348, 0.083868731494},
                                  {{0.269, 0.292, 0.458}, 0.762324878350, 0.184024935656},
                                  {{0.861, 0.586, 0.283}, -0.207441964138, 0.289024106064},
                                  {{0.278, 0.455, 0.205}, 0.994957433005, 0.087443386466},
                                  {{0.649, 0.278, 0.676}, 0.259897516396, 0.031395692159}};
constexpr double kMean = 0.280743922620, kLogLikelihood = -5.822889536511;

Point point(const std::array<double, 3>& x) {
  return {.numbers = {x.begin(), x.end()}, .categories = {}, .graph = nullptr};
}

LazyGp process() {
  const Features features(cube(3));
  LazyGp gp(features, {.lengths = {0.3, 0.8, 2.5},
                       .penalties = {},
                       .shears = {0, 0, 0},
                       .numbers = 1.7,
                       .graphs = 0,
                       .both = 0,
                       .depth = 0,
                       .noise = 1e-3});
  for (const Observation& observed : kObserved) gp.append(point(observed.x), observed.y);
  return gp;
}

TEST(ScikitLearn, HasTheSamePosterior) {
  const LazyGp gp = process();
  for (const Expected& expected : kExpected) {
    const Prediction prediction = gp.predict(point(expected.x));
    EXPECT_NEAR(prediction.mean, expected.mean, 1e-6);
    EXPECT_NEAR(std::sqrt(prediction.variance), expected.deviation, 1e-6);
  }
}

TEST(ScikitLearn, HasTheSameMeanAndLikelihood) {
  const LazyGp gp = process();
  EXPECT_NEAR(gp.mean(), kMean, 1e-6);
  EXPECT_NEAR(gp.log_likelihood(), kLogLikelihood, 1e-6);
}

}  // namespace
}  // namespace detol

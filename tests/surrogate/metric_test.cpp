#include "surrogate/metric.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/surrogate/mixed_points.h"

namespace detol {
namespace {

struct Drawn {
  Features features;
  KernelParameters parameters;
  Points points;
  Metric metric;

  explicit Drawn(const Space& space, Rng rng = Rng(1))
      : features(space),
        parameters(random_parameters(features, rng)),
        points(random_points(space, features, 12, rng)),
        metric(features, parameters.lengths, parameters.shears) {}

  double square(const Point& a, const Point& b) const {
    Points one = features.empty_points();
    one.push_back(b);
    double square = 0;
    metric.add_squares(a, one, 0, {&square, 1});
    return square;
  }
};

TEST(Metric, IsTheQuadraticFormOfItsShearsAndLengths) {
  const Drawn drawn(cube(3));
  const std::vector<double>&u = drawn.parameters.shears, &l = drawn.parameters.lengths;
  for (std::size_t i = 1; i < drawn.points.size(); ++i) {
    const Point a = drawn.points[0], b = drawn.points[i];
    std::vector<double> d;
    for (std::size_t k = 0; k < 3; ++k) d.push_back(a.numbers[k] - b.numbers[k]);
    const double z0 = d[0] / l[0], z1 = (d[1] + u[0] * d[0]) / l[1];
    const double z2 = (d[2] + u[1] * d[0] + u[2] * d[1]) / l[2];
    EXPECT_NEAR(drawn.square(a, b), z0 * z0 + z1 * z1 + z2 * z2, 1e-12);
  }
}

TEST(Metric, HasShearsBetweenTheNumbersThatExistAlwaysAlone) {
  const Features features(mixed_space());  // lr, layers; momentum where the optimizer is sgd
  EXPECT_EQ(features.shears(), 1);
  EXPECT_EQ(features.sheared().size(), 2);
  EXPECT_EQ(Features(cube(1)).shears(), 0);
  EXPECT_EQ(Features(cube(20)).shears(), 190);
  EXPECT_EQ(Features(cube(21)).shears(), 0);
}

TEST(Metric, IsExactlyZeroOfAPointAndItself) {
  for (const Space& space : {cube(5), mixed_space()}) {
    const Drawn drawn(space);
    for (std::size_t i = 0; i < drawn.points.size(); ++i)
      EXPECT_EQ(drawn.square(drawn.points[i], drawn.points[i]), 0);
  }
}

TEST(Metric, IsOneAtItsLengthAlongEachAxis) {
  const Drawn drawn(cube(4));
  const std::vector<double> lengths = drawn.metric.axis_lengths();
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const Point from = drawn.points[0];
    Point to = from;
    to.numbers[k] += lengths[k];
    EXPECT_NEAR(drawn.square(from, to), 1, 1e-12);
  }
}

TEST(Metric, HasTheLengthsAsAxisLengthsWhereThereAreNoShears) {
  const Features features(mixed_space());
  Rng rng(2);
  KernelParameters parameters = random_parameters(features, rng);
  parameters.shears.assign(features.shears(), 0);
  const Metric metric(features, parameters.lengths, parameters.shears);
  const std::vector<double> lengths = metric.axis_lengths();
  ASSERT_EQ(lengths.size(), parameters.lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i)
    EXPECT_DOUBLE_EQ(lengths[i], parameters.lengths[i]);
}

TEST(Metric, HasWaveVectorsWithTheSamePhaseInEitherCoordinates) {
  const Drawn drawn(cube(3));
  const std::vector<double>&u = drawn.parameters.shears, &l = drawn.parameters.lengths;
  const std::vector<double> w = {0.3, -1, 2}, x = {0.1, 0.7, 0.4};
  const std::vector<double> wave = drawn.metric.wave_vector(w);
  const double phase = w[0] * x[0] / l[0] + w[1] * (x[1] + u[0] * x[0]) / l[1] +
                       w[2] * (x[2] + u[1] * x[0] + u[2] * x[1]) / l[2];
  EXPECT_NEAR(wave[0] * x[0] + wave[1] * x[1] + wave[2] * x[2], phase, 1e-12);
}

}  // namespace
}  // namespace detol

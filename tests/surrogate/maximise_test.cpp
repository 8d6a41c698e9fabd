#include "surrogate/maximise.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A hill with its top at (0.3, 0.8), of height 2.
double hill(std::span<const double> x, std::span<double> gradient) {
  const double a = x[0] - 0.3, b = x[1] - 0.8;
  gradient[0] = -2 * a;
  gradient[1] = -8 * b;
  return 2 - a * a - 4 * b * b;
}

TEST(Maximise, FindsTheTopOfAHill) {
  const std::vector<double> start = {0.9, 0.1};
  const Maximum top = maximise(hill, start, {.low = {0, 0}, .high = {1, 1}});
  EXPECT_NEAR(top.x[0], 0.3, 1e-3);
  EXPECT_NEAR(top.x[1], 0.8, 1e-3);
  EXPECT_NEAR(top.value, 2, 1e-5);
}

TEST(Maximise, LooksAtNoPointOutsideOfItsBox) {
  const Box box{.low = {0.5, 0.1}, .high = {0.9, 0.6}};
  const auto watched = [&](std::span<const double> x, std::span<double> gradient) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_GE(x[i], box.low[i]);
      EXPECT_LE(x[i], box.high[i]);
    }
    return hill(x, gradient);
  };
  const std::vector<double> start = {0.7, 0.3};
  const Maximum top = maximise(watched, start, box);
  EXPECT_NEAR(top.x[0], 0.5, 1e-6);  // the corner that is nearest to the top
  EXPECT_NEAR(top.x[1], 0.6, 1e-6);
}

TEST(Maximise, IsTheBestPointThatWasLookedAt) {
  double best = -kInfinity;
  int evaluations = 0;
  const auto watched = [&](std::span<const double> x, std::span<double> gradient) {
    const double value = hill(x, gradient);
    best = std::max(best, value);
    ++evaluations;
    return value;
  };
  const std::vector<double> start = {0.9, 0.1};
  const Box box{.low = {0, 0}, .high = {1, 1}};
  const Maximum top = maximise(watched, start, box, {.max_evaluations = 3});
  EXPECT_EQ(top.value, best);
  EXPECT_EQ(top.evaluations, evaluations);
  EXPECT_LE(evaluations, 3);
}

TEST(Maximise, AValueThatIsNotFiniteIsNoTop) {
  const auto cliff = [](std::span<const double> x, std::span<double> gradient) {
    const double value = hill(x, gradient);
    return x[0] < 0.5 ? kInfinity : value;
  };
  const std::vector<double> start = {0.9, 0.1};
  const Maximum top = maximise(cliff, start, {.low = {0, 0}, .high = {1, 1}});
  EXPECT_GE(top.x[0], 0.5);
  EXPECT_LE(top.value, 2);
}

}  // namespace
}  // namespace detol

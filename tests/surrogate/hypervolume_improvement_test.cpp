#include "surrogate/hypervolume_improvement.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

// Points near a sphere's surface around (1, ..., 1), so that most of them are on the front.
std::vector<Losses> curved_front(std::size_t count, std::size_t objectives, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Losses> points(count, Losses(objectives));
  for (Losses& point : points) {
    double square = 0;
    for (double& loss : point) {
      loss = rng.uniform(0.05, 1);
      square += loss * loss;
    }
    const double radius = rng.uniform(0.7, 0.8);
    for (double& loss : point) loss = 1 - radius * loss / std::sqrt(square);
  }
  return points;
}

double improvement(std::vector<Losses> points, const Losses& added, const Losses& reference) {
  const double before = hypervolume(points, reference);
  points.push_back(added);
  return hypervolume(points, reference) - before;
}

double by_sampling(const std::vector<Losses>& points, const Losses& reference,
                   const std::vector<Prediction>& at) {
  constexpr int kCount = 1500;
  Rng rng(11);
  double sum = 0;
  for (int i = 0; i < kCount; ++i) {
    Losses added;
    for (const Prediction& one : at)
      added.push_back(one.mean + std::sqrt(one.variance) * rng.normal());
    sum += improvement(points, added, reference);
  }
  return sum / kCount;
}

// Each derivative of log_expected() against a central difference.
void expect_true_gradient(const HypervolumeImprovement& improvement,
                          const std::vector<Prediction>& at) {
  const auto value = improvement.log_expected(at);
  for (std::size_t j = 0; j < at.size(); ++j) {
    const auto difference = [&](double Prediction::*which, double step) {
      std::vector<Prediction> up = at, down = at;
      up[j].*which += step;
      down[j].*which -= step;
      return (improvement.log_expected(up).value - improvement.log_expected(down).value) /
             (2 * step);
    };
    const double of_mean = difference(&Prediction::mean, 1e-5 * std::sqrt(at[j].variance));
    const double of_variance = difference(&Prediction::variance, 1e-5 * at[j].variance);
    EXPECT_NEAR(value.by_mean[j], of_mean, 1e-5 * (std::abs(of_mean) + 1)) << "objective " << j;
    EXPECT_NEAR(value.by_variance[j], of_variance, 1e-5 * (std::abs(of_variance) + 1))
        << "objective " << j;
  }
}

TEST(ExpectedHypervolumeImprovement, IsOfOneObjectiveTheExpectedImprovement) {
  const std::vector<Losses> points{{0.4}, {0.3}};
  const Prediction at{.mean = 0.5, .variance = 0.04};
  const auto value = HypervolumeImprovement(points, {1}).log_expected({{at}});
  const AcquisitionValue expected = log_expected_improvement(at, 0.3);
  EXPECT_DOUBLE_EQ(value.value, expected.value);
  EXPECT_DOUBLE_EQ(value.by_mean[0], expected.by_mean);
  EXPECT_DOUBLE_EQ(value.by_variance[0], expected.by_variance);
}

TEST(ExpectedHypervolumeImprovement, IsWithoutAFrontTheProductOfImprovementsOnTheReference) {
  const std::vector<Prediction> at{{.mean = 0.5, .variance = 0.04}, {.mean = 2, .variance = 1}};
  const double expected =
      log_expected_improvement(at[0], 1).value + log_expected_improvement(at[1], 1).value;
  EXPECT_DOUBLE_EQ(HypervolumeImprovement({}, {1, 1}).log_expected(at).value, expected);
}

TEST(ExpectedHypervolumeImprovement, IsWithoutVarianceThatOfTheMean) {
  for (std::size_t objectives = 1; objectives <= 4; ++objectives) {
    const std::vector<Losses> points = curved_front(15, objectives, objectives);
    const Losses reference(objectives, 1.0);
    const HypervolumeImprovement hypervolume_improvement(points, reference);
    for (const Losses& mean : curved_front(10, objectives, 99)) {
      std::vector<Prediction> at;
      for (double loss : mean) at.push_back({.mean = loss - 0.1, .variance = 1e-20});
      Losses added = mean;
      for (double& loss : added) loss -= 0.1;
      EXPECT_NEAR(std::exp(hypervolume_improvement.log_expected(at).value),
                  improvement(points, added, reference), 1e-9)
          << objectives << " objectives";
    }
  }
}

TEST(ExpectedHypervolumeImprovement, IsTheMeanImprovementOfManySamples) {
  for (std::size_t objectives = 2; objectives <= 4; ++objectives) {
    const std::vector<Losses> points = curved_front(10, objectives, objectives);
    const Losses reference(objectives, 1.0);
    std::vector<Prediction> at(objectives, {.mean = 0.5, .variance = 0.03});
    at[0] = {.mean = 0.4, .variance = 0.01};
    const double sampled = by_sampling(points, reference, at);
    const double exact = std::exp(HypervolumeImprovement(points, reference).log_expected(at).value);
    EXPECT_NEAR(exact / sampled, 1, 0.08) << objectives << " objectives";
  }
}

TEST(ExpectedHypervolumeImprovement, HasTheGradientOfFiniteDifferences) {
  for (std::size_t objectives = 1; objectives <= 4; ++objectives) {
    const HypervolumeImprovement improvement(curved_front(12, objectives, objectives),
                                             Losses(objectives, 1.0));
    std::vector<Prediction> at(objectives, {.mean = 0.5, .variance = 0.03});
    at[0] = {.mean = 0.2, .variance = 0.2};
    expect_true_gradient(improvement, at);
  }
}

TEST(ExpectedHypervolumeImprovement, HasTheGradientOfFiniteDifferencesWherePointsAreVeryNear) {
  const std::vector<Losses> points{{0.5, 0.5}, {0.5 + 1e-7, 0.5 - 1e-6}, {0.7, 0.3}};
  expect_true_gradient({points, {1, 1}},
                       {{.mean = 0.6, .variance = 0.01}, {.mean = 0.45, .variance = 0.02}});
}

TEST(ExpectedHypervolumeImprovement, IsFiniteWithAGradientWhereTheImprovementUnderflows) {
  const HypervolumeImprovement improvement(curved_front(12, 2, 2), {1, 1});
  const std::vector<Prediction> at{{.mean = 5, .variance = 1e-3}, {.mean = 7, .variance = 1e-3}};
  EXPECT_LT(improvement.log_expected(at).value, -20'000);
  EXPECT_TRUE(std::isfinite(improvement.log_expected(at).value));
  expect_true_gradient(improvement, at);
}

TEST(ExpectedHypervolumeImprovement, OfManyObjectivesHasABoundedPriceAndIsNotOverestimated) {
  const std::vector<Losses> points = curved_front(80, 5, 5);
  const Losses reference(5, 1.0);
  const HypervolumeImprovement hypervolume_improvement(points, reference);
  EXPECT_LE(hypervolume_improvement.boxes(), HypervolumeImprovement::kMostBoxes);
  const std::vector<Prediction> at(5, {.mean = 0.55, .variance = 1e-20});
  const double share = std::exp(hypervolume_improvement.log_expected(at).value) /
                       improvement(points, Losses(5, 0.55), reference);
  EXPECT_GT(share, 0.7);
  EXPECT_LE(share, 1 + 1e-9);
}

TEST(FreeBoxes, AreAStripPerPointAndOneMoreForTwoObjectives) {
  const std::vector<Losses> points{{1, 4}, {2, 2}, {4, 1}, {3, 3}};
  EXPECT_EQ(free_boxes(points, Losses{5, 5}, 100).size(), 4u);
}

TEST(FreeBoxes, OfThreeObjectivesGrowLikeTheFront) {
  const std::vector<Losses> points = curved_front(200, 3, 1);
  const std::size_t front = nondominated(points).size();
  EXPECT_LE(free_boxes(points, Losses{1, 1, 1}, 10'000).size(), 3 * front + 1);
}

TEST(ReferencePoint, IsATenthOfTheFrontsRangeBeyondItsWorst) {
  const std::vector<Losses> points{{1, 4}, {3, 2}, {9, 9}};
  EXPECT_EQ(reference_point(points), (Losses{3.2, 4.2}));
}

TEST(ReferencePoint, TakesTheRangeOfAllPointsWhereTheFrontHasNone) {
  EXPECT_EQ(reference_point(std::vector<Losses>{{1, 4}, {2, 24}}), (Losses{1.1, 6}));
  EXPECT_EQ(reference_point(std::vector<Losses>{{1, 4}}), (Losses{1.1, 4.1}));
}

}  // namespace
}  // namespace detol

#include "surrogate/transform.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> transformed(const std::vector<double>& outcomes) {
  const OutcomeTransform transform = OutcomeTransform::fitted(outcomes);
  std::vector<double> values;
  for (double outcome : outcomes) values.push_back(transform(outcome));
  return values;
}

// Returns random values that are skewed as losses are.
std::vector<double> losses(std::size_t count) {
  Rng rng(11);
  std::vector<double> values(count);
  for (double& value : values) value = 0.05 + std::exp(1.5 * rng.normal());
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double central_moment(const std::vector<double>& values, int power) {
  double sum = 0;
  for (double value : values) sum += std::pow(value - mean(values), power);
  return sum / static_cast<double>(values.size());
}

TEST(OutcomeTransform, ChangesNothingBeforeItIsFitted) {
  const OutcomeTransform transform;
  for (double value : {-1e9, -0.5, 0.0, 3.25}) EXPECT_EQ(transform(value), value);
}

TEST(OutcomeTransform, StandardisesWhatItWasFittedTo) {
  const std::vector<double> values = transformed(losses(100));
  EXPECT_NEAR(mean(values), 0, 1e-12);
  EXPECT_NEAR(central_moment(values, 2), 1, 1e-12);
}

TEST(OutcomeTransform, TakesTheSkewOut) {
  const std::vector<double> before = losses(300), after = transformed(before);
  const double skew_before = central_moment(before, 3) / std::pow(central_moment(before, 2), 1.5);
  EXPECT_GT(skew_before, 3);
  EXPECT_LT(std::abs(central_moment(after, 3)), 1);
}

// The worst outcome is some 200 times as far from the best as the median is.
std::vector<double> losses_of_a_wide_range() {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.push_back(5 + std::exp2(i / 4.0));
  return values;
}

TEST(OutcomeTransform, FromTheLeastTellsTheBetterHalfApart) {
  const std::vector<double> outcomes = losses_of_a_wide_range();
  const auto spread_of_best = [&](OutcomeTransform::Origin origin) {
    const OutcomeTransform transform = OutcomeTransform::fitted(outcomes, origin);
    return transform(outcomes[15]) - transform(outcomes[0]);
  };
  EXPECT_GT(spread_of_best(OutcomeTransform::Origin::kLeast),
            5 * spread_of_best(OutcomeTransform::Origin::kMean));
}

TEST(OutcomeTransform, StandardisesFromTheLeastToo) {
  std::vector<double> values;
  const std::vector<double> outcomes = losses(100);
  const auto transform = OutcomeTransform::fitted(outcomes, OutcomeTransform::Origin::kLeast);
  for (double outcome : outcomes) values.push_back(transform(outcome));
  EXPECT_NEAR(mean(values), 0, 1e-12);
  EXPECT_NEAR(central_moment(values, 2), 1, 1e-12);
}

TEST(OutcomeTransform, HasTheSlopesOfDifferences) {
  const std::vector<double> outcomes = losses_of_a_wide_range();
  for (const auto origin : {OutcomeTransform::Origin::kMean, OutcomeTransform::Origin::kLeast}) {
    const OutcomeTransform transform = OutcomeTransform::fitted(outcomes, origin);
    double expected = 0;
    for (std::size_t i = 0; i < 50; ++i) {  // the last ones are outliers, or next to them
      const double step = 1e-5 * outcomes[i];
      expected +=
          std::log((transform(outcomes[i] + step) - transform(outcomes[i] - step)) / step / 2);
    }
    EXPECT_NEAR(transform.log_slopes(std::span(outcomes).first(50)), expected, 1e-3);
    const double far = -1e9, step = 1e3;  // so good that its logarithm counts
    EXPECT_NEAR(transform.log_slopes(std::vector{far}),
                std::log((transform(far + step) - transform(far - step)) / step / 2), 1e-3);
    EXPECT_EQ(transform.log_slopes(std::vector{1e300, std::numeric_limits<double>::infinity()}), 0);
  }
}

// Lambda and values are those of scipy.stats.yeojohnson (1.10.1) for the standardised outcomes.
TEST(OutcomeTransform, AgreesWithSciPy) {
  const std::vector<double> outcomes = {0.31, 0.35, 0.36, 0.42, 0.47, 0.55,
                                        0.58, 0.71, 0.83, 1.02, 1.27, 1.5};
  const std::vector<double> expected = {-1.399174, -1.164608, -1.107887, -0.783715,
                                        -0.534775, -0.176704, -0.055237, 0.389941,
                                        0.695926,  1.059273,  1.412292,  1.664668};
  EXPECT_NEAR(OutcomeTransform::fitted(outcomes).to_numbers()[3], 0.03460, 1e-3);
  const std::vector<double> values = transformed(outcomes);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-3);
}

TEST(OutcomeTransform, OfHalfThePowerIsHalfwayToNoneAndStandardises) {
  using Origin = OutcomeTransform::Origin;
  const std::vector<double> outcomes = losses(100);
  for (const Origin origin : {Origin::kMean, Origin::kLeast}) {
    const auto whole = OutcomeTransform::fitted(outcomes, origin);
    const auto half = OutcomeTransform::fitted(outcomes, origin, OutcomeTransform::Power::kHalf);
    EXPECT_EQ(half.to_numbers()[3], (whole.to_numbers()[3] + 1) / 2);
    std::vector<double> values;
    for (double outcome : outcomes) values.push_back(half(outcome));
    EXPECT_NEAR(mean(values), 0, 1e-12);
    EXPECT_NEAR(central_moment(values, 2), 1, 1e-12);
  }
}

TEST(OutcomeTransform, KeepsTheOrder) {
  std::vector<double> outcomes = losses(200);
  const OutcomeTransform transform = OutcomeTransform::fitted(outcomes);
  outcomes.insert(outcomes.end(), {-3, -1e3, -1e9, -1e200});  // better than any there was
  std::ranges::sort(outcomes);
  const double highest = transform.to_numbers()[0];
  for (std::size_t i = 1; i < outcomes.size() && outcomes[i] <= highest; ++i)
    EXPECT_LT(transform(outcomes[i - 1]), transform(outcomes[i])) << outcomes[i];
}

TEST(OutcomeTransform, MakesOutliersOnTheBadSideEqualToABadOutcome) {
  std::vector<double> outcomes = losses(50);
  const double worst = OutcomeTransform::fitted(outcomes)(kInfinity);
  outcomes.insert(outcomes.end(), {1e12, 1e30});
  const OutcomeTransform transform = OutcomeTransform::fitted(outcomes);
  EXPECT_EQ(transform(1e12), transform(1e30));
  EXPECT_LT(transform(1e30), 2 * worst);
}

TEST(OutcomeTransform, LeavesTheGoodSideAlone) {
  std::vector<double> outcomes = losses(50);
  const double best = *std::ranges::min_element(outcomes) - 100;
  outcomes.push_back(best);
  const OutcomeTransform transform = OutcomeTransform::fitted(outcomes);
  EXPECT_LT(transform(best), transform(best + 1));
}

TEST(OutcomeTransform, TakesFailuresForTheWorstThereWas) {
  const OutcomeTransform transform = OutcomeTransform::fitted(std::vector<double>{3, 1, kNan, 2});
  EXPECT_EQ(transform(kInfinity), transform(3));
  EXPECT_EQ(transform(kNan), transform(3));
}

TEST(OutcomeTransform, IsFiniteWhateverItIsGiven) {
  const std::vector<std::vector<double>> wild = {
      {},
      {0},
      {5},
      {1e300},
      {2, 2, 2, 2, 2, 2},
      {kInfinity, -kInfinity, kNan},
      {kInfinity, 1, kNan, 2},
      {-1e308, 1e308, 0, 1, 2, 3, 4},
      {1e300, 1e300, 1e300, 1e300, 1e300, -1e300},
      {1, 2, 3, 4, 5, 1e300},
      {1, 2, 3, 4, 5, -1e300},
      {1e-300, 2e-300, 3e-300, 4e-300, 5e-300},
      {1, std::nextafter(1, 2), 1, 1, 1, 1},
      {0, 0, 0, 0, 0, 5e-324},
  };
  for (std::size_t i = 0; i < wild.size(); ++i) {
    const OutcomeTransform transform = OutcomeTransform::fitted(wild[i]);
    for (double value : {-kInfinity, -1e308, -1.0, 0.0, 1e-310, 1.0, 1e308, kInfinity, kNan})
      EXPECT_TRUE(std::isfinite(transform(value))) << "case " << i << ", outcome " << value;
    for (double value : wild[i]) EXPECT_TRUE(std::isfinite(transform(value))) << "case " << i;
  }
}

TEST(OutcomeTransform, TakesEqualOutcomesToZero) {
  EXPECT_EQ(transformed({7, 7, 7}), (std::vector<double>{0, 0, 0}));
}

TEST(OutcomeTransform, IsInvertedForAllThatItTellsApart) {
  for (const std::vector<double>& outcomes :
       {losses(30), std::vector<double>{-3, -2, -1.5, -1, 5, 40}, std::vector<double>{1, 2, 3}}) {
    const OutcomeTransform transform = OutcomeTransform::fitted(outcomes);
    const double best = std::ranges::min(outcomes);
    for (double outcome : {best - 1e4, best - 0.1, best, best + 0.3})
      EXPECT_NEAR(transform.inverse(transform(outcome)), outcome, 1e-6 * (1 + std::abs(outcome)));
    const double worst = transform.inverse(transform(1e9));
    EXPECT_NEAR(transform(worst), transform(1e9), 1e-9);
    for (double far : {-1e3, 1e3}) EXPECT_TRUE(std::isfinite(transform.inverse(far)));
    EXPECT_LE(transform.inverse(1e3), worst + 1e-9);
  }
}

TEST(OutcomeTransform, ComesBackFromItsNumbers) {
  const OutcomeTransform one = OutcomeTransform::fitted(losses(30));
  const OutcomeTransform other = OutcomeTransform::from_numbers(one.to_numbers());
  EXPECT_EQ(other.to_numbers(), one.to_numbers());
  for (double value : {-1.0, 0.2, 1e9}) EXPECT_EQ(other(value), one(value));
}

TEST(OutcomeTransform, FittedToABoundTellsBothSidesOfItApart) {
  std::vector<double> kept(40, 0);
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = -0.5 - 0.001 * static_cast<double>(i);
  kept.push_back(3);  // all but one are far from the bound
  const OutcomeTransform transform = OutcomeTransform::fitted_to_bound(kept);
  EXPECT_LT(transform(-0.5), transform(0));
  EXPECT_LT(transform(0), transform(3));
  EXPECT_LT(transform(0), transform(kInfinity));
}

TEST(OutcomeTransform, FittedToABoundIsLinearButForOutliers) {
  std::vector<double> values = losses(100);
  values.push_back(1e9);
  const OutcomeTransform transform = OutcomeTransform::fitted_to_bound(values);
  const double unit = transform(1) - transform(0);
  EXPECT_GT(unit, 0.01);  // the outlier does not decide the scale
  EXPECT_NEAR(transform(2) - transform(0), 2 * unit, 1e-9);
  EXPECT_NEAR(transform(-2) - transform(0), -2 * unit, 1e-9);
  EXPECT_EQ(OutcomeTransform::fitted_to_bound({})(7), 7);
  const OutcomeTransform of_equals = OutcomeTransform::fitted_to_bound(std::vector<double>(5, -1));
  EXPECT_LT(of_equals(-1), of_equals(0));
  EXPECT_LT(of_equals(0), of_equals(kInfinity));
}

}  // namespace
}  // namespace detol

#include "surrogate/acquisition.h"

#include <cmath>

#include <gtest/gtest.h>

namespace detol {
namespace {

double direct(double mean, double deviation, double best) {
  const double u = (best - mean) / deviation;
  const double density = std::exp(-u * u / 2) / std::sqrt(2 * M_PI);
  return std::log(deviation * (density + u * 0.5 * std::erfc(-u / std::sqrt(2.0))));
}

TEST(LogExpectedImprovement, IsTheLogarithmOfTheFormula) {
  for (double mean : {-3.0, -1.0, 0.0, 0.5, 1.5, 3.0})
    EXPECT_NEAR(log_expected_improvement({.mean = mean, .variance = 0.25}, 0.2).value,
                direct(mean, 0.5, 0.2), 1e-6);
}

TEST(LogExpectedImprovement, FallsWithTheMeanAlsoWhereTheImprovementUnderflows) {
  double before = 1e300;
  for (double mean = 0; mean < 1e7; mean = mean * 1.3 + 0.01) {
    const double value = log_expected_improvement({.mean = mean, .variance = 1}, 0).value;
    ASSERT_TRUE(std::isfinite(value)) << mean;
    ASSERT_LT(value, before) << mean;
    before = value;
  }
}

TEST(LogExpectedImprovement, HasNoStepWhereItsFormulaChanges) {
  for (double mean : {1.0, 50.0, 1e4}) {  // deviations above the best
    const auto value = [](double m) {
      return log_expected_improvement({.mean = m, .variance = 1}, 0).value;
    };
    EXPECT_NEAR(value(mean * (1 - 1e-12)), value(mean * (1 + 1e-12)), 1e-3) << mean;
  }
}

TEST(LogExpectedImprovement, ItsDerivativesAreFiniteDifferences) {
  for (double mean : {-2.0, 0.0, 0.7, 1.3, 5.0, 30.0, 49.0, 51.0, 300.0}) {
    const Prediction at{.mean = mean, .variance = 0.8};
    const AcquisitionValue acquired = log_expected_improvement(at, 0.1);
    const auto value = [](double m, double v) {
      return log_expected_improvement({.mean = m, .variance = v}, 0.1).value;
    };
    const double by_mean = (value(mean + 1e-5, 0.8) - value(mean - 1e-5, 0.8)) / 2e-5;
    const double by_variance = (value(mean, 0.8 + 1e-5) - value(mean, 0.8 - 1e-5)) / 2e-5;
    EXPECT_NEAR(acquired.by_mean, by_mean, 1e-4 * std::abs(by_mean) + 1e-6) << mean;
    EXPECT_NEAR(acquired.by_variance, by_variance, 1e-3 * std::abs(by_variance) + 1e-5) << mean;
  }
}

TEST(ConfidenceBound, IsLargestWhereTheMeanIsLowAndLittleIsKnown) {
  EXPECT_DOUBLE_EQ(confidence_bound({.mean = 3, .variance = 4}, 2).value, 2 * 2 - 3);
  EXPECT_DOUBLE_EQ(confidence_bound({.mean = -1, .variance = 0.25}, 3).value, 3 * 0.5 + 1);
}

TEST(ConfidenceBound, ItsDerivativesAreFiniteDifferences) {
  const AcquisitionValue acquired = confidence_bound({.mean = 0.3, .variance = 0.8}, 2);
  const auto value = [](double m, double v) {
    return confidence_bound({.mean = m, .variance = v}, 2).value;
  };
  EXPECT_NEAR(acquired.by_mean, (value(0.3 + 1e-5, 0.8) - value(0.3 - 1e-5, 0.8)) / 2e-5, 1e-6);
  EXPECT_NEAR(acquired.by_variance, (value(0.3, 0.8 + 1e-5) - value(0.3, 0.8 - 1e-5)) / 2e-5, 1e-6);
}

TEST(ImprovementPerWork, IsTheQuotientWithExponentOne) {
  const Prediction log_work{.mean = std::log(4.0), .variance = 1};
  EXPECT_DOUBLE_EQ(log_improvement_per_work(std::log(2.0), log_work, 1), std::log(0.5));
}

TEST(ImprovementPerWork, ForgetsTheWorkWithExponentZero) {
  EXPECT_EQ(log_improvement_per_work(-3, {.mean = 7, .variance = 1}, 0), -3);
}

TEST(ProbabilityBelow, IsOfTheNormalDistributionAndCertainWithoutVariance) {
  EXPECT_NEAR(probability_below({.mean = 1, .variance = 4}, -1), 0.15865525393145705, 1e-15);
  EXPECT_EQ(probability_below({.mean = 1, .variance = 0}, 2), 1);
  EXPECT_EQ(probability_below({.mean = 1, .variance = 0}, 1), 0);
}

TEST(LogProbabilityBelow, IsTheLogarithmOfTheNormalDistribution) {
  for (double mean : {-30.0, -1.0, 0.2, 0.69, 0.71, 3.0})
    EXPECT_NEAR(log_probability_below({.mean = mean, .variance = 0.25}, 0.2).value,
                std::log(0.5 * std::erfc((mean - 0.2) / 0.5 / std::sqrt(2.0))), 1e-9)
        << mean;
}

TEST(LogProbabilityBelow, FallsWithTheMeanAlsoWhereTheProbabilityUnderflows) {
  double before = 1;
  for (double mean = 0; mean < 1e7; mean = mean * 1.3 + 0.01) {
    const double value = log_probability_below({.mean = mean, .variance = 1}, 0).value;
    ASSERT_TRUE(std::isfinite(value)) << mean;
    ASSERT_LT(value, before) << mean;
    before = value;
  }
}

TEST(LogProbabilityBelow, ItsDerivativesAreFiniteDifferences) {
  for (double mean : {-20.0, -2.0, 0.0, 0.7, 1.3, 5.0, 30.0, 300.0}) {
    const AcquisitionValue acquired = log_probability_below({.mean = mean, .variance = 0.8}, 0.1);
    const auto value = [](double m, double v) {
      return log_probability_below({.mean = m, .variance = v}, 0.1).value;
    };
    const double by_mean = (value(mean + 1e-5, 0.8) - value(mean - 1e-5, 0.8)) / 2e-5;
    const double by_variance = (value(mean, 0.8 + 1e-5) - value(mean, 0.8 - 1e-5)) / 2e-5;
    EXPECT_NEAR(acquired.by_mean, by_mean, 1e-4 * std::abs(by_mean) + 1e-6) << mean;
    EXPECT_NEAR(acquired.by_variance, by_variance, 1e-3 * std::abs(by_variance) + 1e-5) << mean;
  }
}

}  // namespace
}  // namespace detol

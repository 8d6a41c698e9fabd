#include "surrogate/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

constexpr int kEpochs = 20;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns a curve's value at an epoch, with noise.
using CurveFunction = double (*)(std::uint64_t trial, int epoch);

double noise(std::uint64_t trial, int epoch) {
  return 0.005 * Rng(3).split(trial).split(static_cast<std::uint64_t>(epoch)).normal();
}

double power_law(std::uint64_t trial, int epoch) {
  Rng rng = Rng(1).split(trial);
  const double end = rng.uniform(0.05, 0.4), drop = rng.uniform(0.2, 0.8);
  return end + drop * std::pow(epoch, -rng.uniform(0.5, 1.5)) + noise(trial, epoch);
}

double exponential(std::uint64_t trial, int epoch) {
  Rng rng = Rng(2).split(trial);
  const double end = rng.uniform(0.1, 0.5), drop = rng.uniform(0.3, 0.6);
  return end + drop * std::exp(-rng.uniform(0.2, 0.8) * epoch) + noise(trial, epoch);
}

void observe(LearningCurves& curves, CurveFunction curve, std::uint64_t trial, int epochs) {
  for (int epoch = 1; epoch <= epochs; ++epoch) curves.observe(trial, epoch, curve(trial, epoch));
}

// Quality of predicting the ends of 60 curves from their first epochs, after 40 complete curves.
struct Quality {
  double error = 0;      // root mean square error of the predicted means
  double last_step = 0;  // the same for a baseline: last value minus the average fall
  int inside = 0;        // ends within 1.645 standard deviations
};

constexpr int kWhole = 40, kForeseen = 60;

Quality foresee(CurveFunction curve, int epochs) {
  LearningCurves curves(kEpochs);
  double fall = 0;
  for (std::uint64_t trial = 0; trial < kWhole; ++trial) {
    observe(curves, curve, trial, kEpochs);
    fall += (curve(trial, epochs) - curve(trial, kEpochs)) / kWhole;
  }
  Quality quality;
  for (std::uint64_t trial = kWhole; trial < kWhole + kForeseen; ++trial) {
    observe(curves, curve, trial, epochs);
    const Prediction end = curves.predict(trial, kEpochs);
    const double error = curve(trial, kEpochs) - end.mean;
    quality.error += error * error;
    quality.last_step += std::pow(curve(trial, kEpochs) - curve(trial, epochs) + fall, 2);
    quality.inside += std::abs(error) < 1.645 * std::sqrt(end.variance);
  }
  quality.error = std::sqrt(quality.error / kForeseen);
  quality.last_step = std::sqrt(quality.last_step / kForeseen);
  return quality;
}

TEST(LearningCurves, ForeseePowerLawsWithHonestErrorBars) {
  const Quality quality = foresee(power_law, 5);
  EXPECT_LT(quality.error, 0.8 * quality.last_step);
  EXPECT_GE(quality.inside, kForeseen * 8 / 10);
}

TEST(LearningCurves, ForeseeExponentialsWithHonestErrorBars) {
  const Quality quality = foresee(exponential, 5);
  EXPECT_LT(quality.error, 0.8 * quality.last_step);
  EXPECT_GE(quality.inside, kForeseen * 8 / 10);
}

TEST(LearningCurves, AreSurerTheMoreOfATrialTheySaw) {
  LearningCurves curves(kEpochs);
  for (std::uint64_t trial = 0; trial < 20; ++trial) observe(curves, power_law, trial, kEpochs);
  double before = curves.predict(20, kEpochs).variance;
  for (int epoch : {2, 5, 10, 18}) {
    observe(curves, power_law, 20, epoch);
    const double variance = curves.predict(20, kEpochs).variance;
    EXPECT_LT(variance, before) << epoch;
    before = variance;
  }
}

// The bias is the mean error of the predicted end over the stopped trials.
TEST(LearningCurves, AreNotMisledByBadTrialsThatWereStopped) {
  LearningCurves curves(kEpochs);
  for (std::uint64_t trial = 0; trial < 60; ++trial)
    observe(curves, power_law, trial, power_law(trial, 5) > 0.4 ? 5 : kEpochs);
  double bias = 0;
  int stopped = 0;
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    if (power_law(trial, 5) <= 0.4) continue;
    bias += curves.predict(trial, kEpochs).mean - power_law(trial, kEpochs);
    ++stopped;
  }
  EXPECT_GT(stopped, 10);
  EXPECT_LT(std::abs(bias / stopped), 0.02);
}

TEST(LearningCurves, KnowWhatWasReported) {
  LearningCurves curves(kEpochs);
  observe(curves, power_law, 0, 5);
  EXPECT_EQ(curves.predict(0, 3).mean, power_law(0, 3));
  EXPECT_EQ(curves.predict(0, 3).variance, 0);
}

TEST(LearningCurves, KnowNothingOfAnEpochThatNobodyReached) {
  LearningCurves curves(kEpochs);
  EXPECT_EQ(curves.predict(0, kEpochs).variance, kInfinity);
  observe(curves, power_law, 0, 5);
  EXPECT_EQ(curves.predict(0, kEpochs).variance, kInfinity);
}

TEST(LearningCurves, FillEpochsThatWereLeftOut) {
  LearningCurves curves(kEpochs);
  curves.observe(0, 2, 0.5);
  curves.observe(0, 6, 0.1);
  EXPECT_EQ(curves.predict(0, 1).mean, 0.5);
  EXPECT_DOUBLE_EQ(curves.predict(0, 3).mean, 0.4);
}

TEST(LearningCurves, StayFiniteWhateverIsReported) {
  LearningCurves curves(kEpochs);
  const double odd[] = {kInfinity, -kInfinity, std::nan(""), 1e308, -1e308, 0, 1e-308};
  for (std::uint64_t trial = 0; trial < 50; ++trial) {
    for (int epoch = 1; epoch <= kEpochs; ++epoch) {
      const bool is_odd = trial % 3 == 0 && (trial + static_cast<std::uint64_t>(epoch)) % 4 == 0;
      const std::uint64_t which = trial * 7 + static_cast<std::uint64_t>(epoch);
      curves.observe(trial, epoch, is_odd ? odd[which % 7] : power_law(trial, epoch));
      const Prediction end = curves.predict(trial, kEpochs);
      EXPECT_TRUE(epoch == kEpochs || std::isfinite(end.mean)) << trial << " " << epoch;
      EXPECT_GE(end.variance, 0);
    }
  }
}

TEST(LearningCurves, ForeseeThatConstantsStay) {
  LearningCurves curves(kEpochs);
  for (std::uint64_t trial = 0; trial < 10; ++trial)
    observe(
        curves, [](std::uint64_t, int) { return 0.7; }, trial, trial < 9 ? kEpochs : 4);
  EXPECT_NEAR(curves.predict(9, kEpochs).mean, 0.7, 1e-9);
}

TEST(LearningCurves, ForeseeTheEndOfLongTrials) {
  constexpr int kLong = 500;
  LearningCurves curves(kLong);
  for (std::uint64_t trial = 0; trial < 20; ++trial) observe(curves, power_law, trial, kLong);
  observe(curves, power_law, 20, 250);
  const Prediction end = curves.predict(20, kLong);
  EXPECT_NEAR(end.mean, power_law(20, kLong), 3 * std::sqrt(end.variance));
  EXPECT_LT(end.variance, 0.02 * 0.02);
}

TEST(LearningCurves, OfOneEpochAreTheirValue) {
  LearningCurves curves(1);
  curves.observe(0, 1, 3);
  EXPECT_EQ(curves.predict(0, 1).mean, 3);
}

TEST(LearningCurves, ForeseeHowMuchALookWillTell) {
  LearningCurves curves(kEpochs);
  for (std::uint64_t trial = 0; trial < kWhole; ++trial) observe(curves, power_law, trial, kEpochs);
  constexpr int kKnown = 3, kLook = 8;
  double foreseen = 0, found = 0;
  for (std::uint64_t trial = kWhole; trial < kWhole + kForeseen; ++trial) {
    observe(curves, power_law, trial, kKnown);
    const LearningCurves::Outlook outlook = curves.outlook(trial, kLook, kEpochs);
    EXPECT_LT(outlook.variance_after_look, outlook.now.variance);
    foreseen += outlook.variance_after_look;
    observe(curves, power_law, trial, kLook);
    found += curves.predict(trial, kEpochs).variance;
  }
  EXPECT_NEAR(foreseen / found, 1, 0.4);
  EXPECT_EQ(curves.outlook(kWhole, kEpochs, kEpochs).variance_after_look, 0);
}

TEST(LearningCurves, LearnFromWholeCurvesHoweverManyShortOnesCome) {
  LearningCurves curves(kEpochs);
  for (std::uint64_t trial = 0; trial < kWhole; ++trial) observe(curves, power_law, trial, kEpochs);
  const std::uint64_t many = kWhole + 3 * LearningCurves::kMostCurves;
  for (std::uint64_t trial = kWhole; trial < many; ++trial) observe(curves, power_law, trial, 1);
  EXPECT_LT(curves.predict(many - 1, kEpochs).variance, 0.1);
}

TEST(LearningCurves, PredictAgainFromWhatWasKnownEarlier) {
  LearningCurves curves(kEpochs);
  for (std::uint64_t trial = 0; trial < kWhole; ++trial) observe(curves, power_law, trial, kEpochs);
  observe(curves, power_law, kWhole, 5);
  const Prediction then = curves.predict(kWhole, kEpochs);
  const std::size_t fits = curves.fits();
  observe(curves, power_law, kWhole, 12);
  const Prediction again = curves.predict_from(kWhole, 5, kEpochs);
  ASSERT_EQ(curves.fits(), fits);
  EXPECT_EQ(again.mean, then.mean);
  EXPECT_EQ(again.variance, then.variance);
}

TEST(LearningCurves, LearnFromReportsInsideTheFirstEpoch) {
  const std::vector<double> early = {0.25, 0.5};
  LearningCurves curves(4, early);
  Rng rng(8);
  for (std::uint64_t trial = 0; trial < 30; ++trial) {
    const double end = rng.uniform();
    for (double epochs : {0.25, 0.5, 1.0, 2.0, 3.0, 4.0})
      curves.observe(trial, epochs, end + 0.1 / epochs + 0.01 * rng.normal());
  }
  curves.observe(40, 0.25, 0.2 + 0.1 / 0.25);
  EXPECT_NEAR(curves.predict(40, 4).mean, 0.2 + 0.1 / 4, 0.03);
  EXPECT_LT(curves.predict(40, 4).variance, 0.1 * curves.predict(41, 4).variance);
}

}  // namespace
}  // namespace detol

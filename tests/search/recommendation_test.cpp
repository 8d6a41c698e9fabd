#include "search/recommendation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

Space square_space() {
  return SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
}

double true_value(const Genome& genome) {
  return std::pow(genome.number("x") - 0.3, 2) + std::pow(genome.number("y") - 0.7, 2);
}

// Returns so many random trials of a bowl, measured with noise of that deviation.
std::vector<MeasuredTrial> bowl(std::size_t count, double noise, std::uint64_t seed = 4) {
  Rng rng(seed);
  std::vector<MeasuredTrial> trials;
  for (TrialId id = 0; id < count; ++id) {
    const Genome genome = square_space().sample(rng);
    trials.push_back({id, genome, true_value(genome) + noise * rng.normal()});
  }
  return trials;
}

const MeasuredTrial& best_observed(const std::vector<MeasuredTrial>& trials) {
  return *std::ranges::min_element(trials, {}, &MeasuredTrial::value);
}

// Returns a noisy bowl of 60 trials in which a mediocre one was measured far too well.
std::vector<MeasuredTrial> bowl_with_a_lucky_trial() {
  std::vector<MeasuredTrial> trials = bowl(60, 0.1);
  const auto lucky = std::ranges::find_if(trials, [](const MeasuredTrial& trial) {
    return true_value(trial.genome) > 0.2 && true_value(trial.genome) < 0.3;
  });
  lucky->value = best_observed(trials).value - 0.02;
  return trials;
}

TEST(Recommendation, PrefersATrialAmongGoodOnesToALuckyOne) {
  const std::vector<MeasuredTrial> trials = bowl_with_a_lucky_trial();
  const MeasuredTrial& lucky = best_observed(trials);
  const auto ranking = recommend(square_space(), Direction::kMinimize, trials);
  ASSERT_EQ(ranking.size(), trials.size());
  EXPECT_NE(ranking[0].id, lucky.id);
  EXPECT_LT(true_value(trials[ranking[0].id].genome), 0.05);
  EXPECT_GT(true_value(lucky.genome), 0.2);
}

TEST(Recommendation, ItsMeansAreNearerToTheTruthThanTheMeasurements) {
  const std::vector<MeasuredTrial> trials = bowl_with_a_lucky_trial();
  double of_means = 0, of_values = 0, within = 0;
  for (const Recommended& one : recommend(square_space(), Direction::kMinimize, trials)) {
    const double truth = true_value(trials[one.id].genome);
    of_means += std::pow(one.mean - truth, 2);
    of_values += std::pow(trials[one.id].value - truth, 2);
    within += std::abs(one.mean - truth) <= 2 * one.deviation ? 1 : 0;
  }
  EXPECT_LT(of_means, of_values / 4);
  EXPECT_GE(within, 48);  // of 60
}

// Of normal errors two thirds are within one deviation. The trials are neighbours, whose errors are
// alike, so that it may be more, but not nearly all.
TEST(Recommendation, ADeviationIsNoLargerThanTheErrorsAre) {
  int within = 0, all = 0;
  for (const std::uint64_t seed : {4u, 5u, 6u, 7u}) {
    const std::vector<MeasuredTrial> trials = bowl(40, 0.1, seed);
    for (const Recommended& one : recommend(square_space(), Direction::kMinimize, trials)) {
      const double error = std::abs(one.mean - true_value(trials[one.id].genome));
      within += error <= one.deviation ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(within, all / 2);
  EXPECT_LE(within, all * 17 / 20);
}

TEST(Recommendation, AgreesWithMeasurementsWithoutNoise) {
  const std::vector<MeasuredTrial> trials = bowl(40, 0);
  const auto ranking = recommend(square_space(), Direction::kMinimize, trials);
  EXPECT_EQ(ranking[0].id, best_observed(trials).id);
  for (const Recommended& one : ranking) EXPECT_NEAR(one.mean, trials[one.id].value, 0.02);
}

TEST(Recommendation, NamesATrialWithOneOfTheBestValuesWhereTheProcessTakesDetailForNoise) {
  std::vector<MeasuredTrial> trials = bowl(120, 0);
  for (MeasuredTrial& trial : trials)
    trial.value +=
        0.2 * std::cos(60 * trial.genome.number("x")) * std::cos(60 * trial.genome.number("y"));
  const auto ranking = recommend(square_space(), Direction::kMinimize, trials);
  std::vector<double> values;
  for (const MeasuredTrial& trial : trials) values.push_back(trial.value);
  std::ranges::sort(values);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_LE(trials[ranking[i].id].value, values[5]);
  const auto least_mean = std::ranges::min_element(ranking, {}, &Recommended::mean);
  EXPECT_GT(trials[least_mean->id].value, values[5]);  // this one would be named without the rule
}

TEST(Recommendation, ListsNoTrialThatBreaksAConstraint) {
  std::vector<MeasuredTrial> trials = bowl_with_a_lucky_trial();
  for (MeasuredTrial& trial : trials) trial.keeps_constraints = trial.genome.number("x") > 0.6;
  const auto ranking = recommend(square_space(), Direction::kMinimize, trials);
  std::vector<double> values;
  for (const MeasuredTrial& trial : trials) {
    if (trial.keeps_constraints) values.push_back(trial.value);
  }
  std::ranges::sort(values);
  ASSERT_GT(values.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(trials[ranking[i].id].keeps_constraints);
    EXPECT_LE(trials[ranking[i].id].value, values[4]);
  }
}

TEST(Recommendation, MaximisingIsMinimisingTheNegative) {
  std::vector<MeasuredTrial> trials = bowl_with_a_lucky_trial();
  const auto least = recommend(square_space(), Direction::kMinimize, trials);
  for (MeasuredTrial& trial : trials) trial.value = -trial.value;
  const auto greatest = recommend(square_space(), Direction::kMaximize, trials);
  for (std::size_t i = 0; i < least.size(); ++i) {
    EXPECT_EQ(greatest[i].id, least[i].id);
    EXPECT_EQ(greatest[i].mean, -least[i].mean);
    EXPECT_EQ(greatest[i].deviation, least[i].deviation);
  }
}

TEST(Recommendation, EqualTrialsAreInTheOrderOfTheirNumbers) {
  std::vector<MeasuredTrial> trials = bowl(kLeastTrialsToRecommend, 0);
  for (MeasuredTrial& trial : trials) trial.value = 0.25;
  const auto ranking = recommend(square_space(), Direction::kMinimize, trials);
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    EXPECT_EQ(ranking[i].id, i);
    EXPECT_DOUBLE_EQ(ranking[i].mean, 0.25);
  }
}

TEST(Recommendation, TakesTheBestThirdOfManyTrialsAndDrawsTheOthers) {
  const std::vector<MeasuredTrial> trials = bowl(90, 0.01);
  const auto ranking = recommend(square_space(), Direction::kMinimize, trials, 60);
  EXPECT_EQ(ranking.size(), 60u);
  std::set<TrialId> taken;
  for (const Recommended& one : ranking) taken.insert(one.id);
  std::vector<MeasuredTrial> sorted = trials;
  std::ranges::sort(sorted, {}, &MeasuredTrial::value);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(taken.contains(sorted[i].id));
}

TEST(Recommendation, TakesMeasurementsOfOneCandidateTogether) {
  std::vector<MeasuredTrial> trials = bowl(20, 0);
  const std::size_t best = best_observed(trials).id;
  for (const double error : {0.05, -0.05})
    trials.push_back({trials.size(), trials[best].genome, trials[best].value + error});
  const auto ranking = recommend(square_space(), Direction::kMinimize, trials);
  std::vector<double> means;
  for (const Recommended& one : ranking) {
    if (trials[one.id].genome == trials[best].genome) means.push_back(one.mean);
  }
  ASSERT_EQ(means.size(), 3u);
  EXPECT_NEAR(means[0], means[2], 1e-9);
}

}  // namespace
}  // namespace detol

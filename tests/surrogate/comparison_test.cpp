#include "surrogate/comparison.h"

#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

std::vector<double> normal_losses(std::size_t count, double mean, double memory, Rng& rng) {
  std::vector<double> losses;
  double state = rng.normal();
  for (std::size_t i = 0; i < count; ++i) {
    state = memory * state + std::sqrt(1 - memory * memory) * rng.normal();
    losses.push_back(mean + state);
  }
  return losses;
}

TEST(Superiority, IsTheShareOfPairsThatAreWon) {
  EXPECT_EQ(superiority(std::vector{1.0, 2.0}, std::vector{2.0, 3.0}, 0.95).probability, 0.875);
  EXPECT_EQ(superiority(std::vector{1.0, 1.0}, std::vector{1.0}, 0.95).probability, 0.5);
}

TEST(Superiority, OfTheOtherRunIsTheComplement) {
  Rng rng(3);
  const auto a = normal_losses(30, 0, 0, rng), b = normal_losses(17, 0.4, 0, rng);
  const Superiority one = superiority(a, b, 0.9), other = superiority(b, a, 0.9);
  EXPECT_NEAR(one.probability, 1 - other.probability, 1e-12);
  EXPECT_NEAR(one.low, 1 - other.high, 1e-9);
  EXPECT_NEAR(one.high, 1 - other.low, 1e-9);
}

TEST(Superiority, IsUncertainEvenWhereEveryPairIsWon) {
  const Superiority few = superiority(std::vector{1.0, 2.0}, std::vector{3.0, 4.0}, 0.95);
  EXPECT_EQ(few.probability, 1);
  EXPECT_LT(few.low, 0.5);
  EXPECT_NEAR(few.high, 1, 1e-9);
}

TEST(Superiority, HasAWiderIntervalAtHigherConfidenceAndWithFewerTrials) {
  Rng rng(4);
  const auto a = normal_losses(100, 0, 0, rng), b = normal_losses(100, 0, 0, rng);
  const auto width = [&](std::size_t count, double confidence) {
    const Superiority s =
        superiority(std::span(a).first(count), std::span(b).first(count), confidence);
    return s.high - s.low;
  };
  EXPECT_GT(width(100, 0.99), width(100, 0.9));
  EXPECT_GT(width(20, 0.95), width(100, 0.95));
}

// Equal runs must seldom be told apart, also where neighbouring trials are alike.
TEST(Superiority, IntervalContainsOneHalfForEqualRuns) {
  for (const double memory : {0.0, 0.7}) {
    int covered = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Rng rng(seed);
      const auto a = normal_losses(60, 0, memory, rng), b = normal_losses(60, 0, memory, rng);
      const Superiority s = superiority(a, b, 0.95);
      covered += s.low <= 0.5 && 0.5 <= s.high;
    }
    EXPECT_GE(covered, 174) << "memory " << memory;
  }
}

TEST(Progress, IsTheBestOfTheFirstTrialsAndTheFirstThatHasIt) {
  const std::vector<double> losses = {5, 3, 4, 1, 1, 2};
  const std::vector<std::size_t> counts = {1, 3, 6};
  const Progress progress = progress_of(losses, counts);
  EXPECT_EQ(progress.best, 1);
  EXPECT_EQ(progress.trials_to_best, 4u);
  EXPECT_EQ(progress.best_at, (std::vector<double>{5, 3, 1}));
}

}  // namespace
}  // namespace detol

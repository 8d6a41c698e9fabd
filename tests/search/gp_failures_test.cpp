// GpFailures: what is learned of trials that fail.

#include "search/gp_failures.h"

#include <cmath>

#include <gtest/gtest.h>

#include "encodings/space/space.h"

namespace detol {
namespace {

class FailuresOfACube : public testing::Test {
 protected:
  Genome at(std::vector<double> numbers) {
    Rng rng(1);
    return space.repair(std::move(numbers), rng);
  }
  double chance(std::vector<double> numbers) {
    return failures.log_chance(features.of(at(std::move(numbers))));
  }
  // Tells random trials, of which those fail whose numbers add up to more than 1.5.
  void tell_of_a_plane(int trials, std::uint64_t seed = 3) {
    Rng rng(seed);
    for (int i = 0; i < trials; ++i) {
      const Genome genome = space.sample(rng);
      double sum = 0;
      for (double code : genome.codes()) sum += code;
      failures.tell(features.of(genome), sum > 1.5);
    }
  }

  Space space =
      SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).add_float("z", 0, 1).build().value();
  Features features{space};
  GpFailures failures{features};
};

TEST_F(FailuresOfACube, NothingIsKnownBeforeTrialsOfBothKinds) {
  EXPECT_FALSE(failures.is_informed());
  failures.tell(features.of(at({0.5, 0.5, 0.5})), true);
  EXPECT_FALSE(failures.is_informed());
  failures.tell(features.of(at({0.1, 0.1, 0.1})), false);
  EXPECT_TRUE(failures.is_informed());
  EXPECT_EQ(failures.failed(), 1U);
}

// Far from all trials, but on a known side of the boundary, which is oblique.
TEST_F(FailuresOfACube, ABoundaryIsLearnedBeyondTheTrialsThatFailed) {
  tell_of_a_plane(60);
  failures.update();
  const double likely = std::log(0.5), unlikely = std::log(0.05);
  EXPECT_GT(chance({0.0, 0.0, 0.9}), likely);
  EXPECT_GT(chance({0.9, 0.0, 0.0}), likely);
  EXPECT_LT(chance({1.0, 1.0, 0.1}), unlikely);
  EXPECT_LT(chance({0.1, 1.0, 1.0}), unlikely);
}

TEST_F(FailuresOfACube, TheSlopeIsTheDerivative) {
  tell_of_a_plane(30);
  failures.update();
  const std::vector<double> x = {0.45, 0.5, 0.55};
  const auto value = failures.chance(features.of(at(x)));
  EXPECT_NEAR(value.log, chance(x), 1e-9);
  for (std::size_t i = 0; i < x.size(); ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> above = x, below = x;
    above[i] += kStep;
    below[i] -= kStep;
    EXPECT_NEAR(value.slope[i], (chance(above) - chance(below)) / (2 * kStep),
                1e-4 * (1 + std::abs(value.slope[i])));
  }
}

// Where as much speaks for a failure as for a success; proposals are more careful than that.
TEST_F(FailuresOfACube, InTheMiddleBetweenBothKindsASuccessIsAsLikelyAsNot) {
  failures.tell(features.of(at({0.2, 0.5, 0.5})), true);
  failures.tell(features.of(at({0.8, 0.5, 0.5})), false);
  failures.update();
  EXPECT_NEAR(failures.success(features.of(at({0.5, 0.5, 0.5}))), 0.5, 1e-9);
  EXPECT_NEAR(chance({0.5, 0.5, 0.5}), 2 * std::log(0.5), 1e-9);
}

TEST_F(FailuresOfACube, ChancesDoNotDependOnWhenTheyWereAskedFor) {
  GpFailures asked_often(features);
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    const Genome genome = space.sample(rng);
    const bool has_failed = genome.codes()[0] > 0.6;
    failures.tell(features.of(genome), has_failed);
    asked_often.tell(features.of(genome), has_failed);
    asked_often.update();
  }
  failures.update();
  const Point x = features.of(at({0.6, 0.2, 0.3}));
  EXPECT_EQ(failures.log_chance(x), asked_often.log_chance(x));
}

TEST_F(FailuresOfACube, LikelyFailuresAreDropped) {
  const Genome good = at({0.1, 0.1, 0.1}), bad = at({0.9, 0.9, 0.9});
  const std::vector<Genome> both = {bad, good, bad, good};
  std::vector<Genome> genomes = both;
  Rng rng(1);
  failures.drop_likely(genomes, rng);
  EXPECT_EQ(genomes, both);  // nothing is known
  tell_of_a_plane(60);
  failures.update();
  failures.drop_likely(genomes, rng);
  EXPECT_EQ(genomes, (std::vector<Genome>{good, good}));
}

// Two failures among a thousand trials, told first: more than a fit holds.
TEST_F(FailuresOfACube, FewFailuresAmongManyTrialsAreNotForgotten) {
  failures.tell(features.of(at({0.9, 0.9, 0.9})), true);
  failures.tell(features.of(at({0.88, 0.9, 0.92})), true);
  Rng rng(7);
  for (int i = 0; i < 1000; ++i) {
    Genome genome = space.sample(rng);
    while (genome.codes()[0] > 0.8 && genome.codes()[1] > 0.8) genome = space.sample(rng);
    failures.tell(features.of(genome), false);
  }
  failures.update();
  EXPECT_LT(chance({0.89, 0.9, 0.91}), std::log(0.05));
  EXPECT_GT(chance({0.2, 0.3, 0.4}), std::log(0.8));
}

}  // namespace
}  // namespace detol

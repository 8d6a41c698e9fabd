// The promises of the pruner curve beyond the contract of all pruners.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "scheduler/pruners/pruner.h"

namespace detol {
namespace {

constexpr int kEpochs = 20;

std::unique_ptr<Pruner> make(std::map<std::string, std::string> options = {},
                             int epochs = kEpochs) {
  return make_pruner("curve", {.max_epochs = epochs, .options = std::move(options)}).value();
}

// Curves that cross: the better a curve ends, the slower it begins.
double crossing(std::uint64_t seed, TrialId trial, int epoch) {
  Rng rng = Rng(seed).split(trial);
  const double end = rng.uniform(0.05, 0.4);
  const double drop = rng.uniform(0.2, 0.6), speed = 0.2 + 3 * end;
  Rng noise = rng.split(static_cast<std::uint64_t>(epoch));
  return end + drop * std::pow(epoch, -speed) + 0.005 * noise.normal();
}

// Returns the number of epochs after which the trial ends.
template <typename Curve>
int epochs_of(Pruner& pruner, TrialId trial, const Curve& curve) {
  for (int epoch = 1; epoch < kEpochs; ++epoch) {
    if (pruner.judge(trial, epoch, curve(trial, epoch)) == Advice::kStop) return epoch;
  }
  (void)pruner.judge(trial, kEpochs, curve(trial, kEpochs));
  return kEpochs;
}

struct Search {
  int epochs = 0;
  bool stopped_the_winner = false;
};

Search search(std::uint64_t seed, TrialId trials) {
  const auto curve = [&](TrialId trial, int epoch) { return crossing(seed, trial, epoch); };
  TrialId winner = 0;
  for (TrialId trial = 1; trial < trials; ++trial) {
    if (curve(trial, kEpochs) < curve(winner, kEpochs)) winner = trial;
  }
  Search result;
  const auto pruner = make();
  for (TrialId trial = 0; trial < trials; ++trial) {
    const int epochs = epochs_of(*pruner, trial, curve);
    result.epochs += epochs;
    if (trial == winner) result.stopped_the_winner = epochs < kEpochs;
  }
  return result;
}

TEST(Curve, StopsAClearlyBadTrialEarly) {
  const auto pruner = make();
  const auto curve = [](TrialId trial, int epoch) {
    return crossing(1, trial, epoch) + (trial == 20 ? 1 : 0);
  };
  for (TrialId trial = 0; trial < 20; ++trial) (void)epochs_of(*pruner, trial, curve);
  EXPECT_LE(epochs_of(*pruner, 20, curve), kEpochs / 4);
}

// However large the best share is, what all finished trials will beat is not in it.
TEST(Curve, StopsATrialThatAllOthersBeatWhereAllOfThemAreTheBest) {
  const auto pruner = make({{"top", "1"}});
  const auto curve = [](TrialId trial, int epoch) {
    return crossing(1, trial, epoch) + (trial == 20 ? 1 : 0);
  };
  for (TrialId trial = 0; trial < 20; ++trial) (void)epochs_of(*pruner, trial, curve);
  EXPECT_LT(epochs_of(*pruner, 20, curve), kEpochs);
}

TEST(Curve, RarelyStopsTheWinnerAmongCrossingCurvesAndSavesHalfTheEpochs) {
  constexpr int kSearches = 20, kTrials = 40;
  int epochs = 0, stopped = 0;
  for (std::uint64_t seed = 0; seed < kSearches; ++seed) {
    const Search result = search(seed, kTrials);
    epochs += result.epochs;
    stopped += result.stopped_the_winner;
  }
  EXPECT_LE(stopped, kSearches / 10);
  EXPECT_LE(epochs, kSearches * kTrials * kEpochs / 2);
}

TEST(Curve, WaitsForItsStartup) {
  const auto pruner = make({{"startup", "10"}});
  const auto curve = [](TrialId trial, int) { return static_cast<double>(trial); };
  for (TrialId trial = 0; trial < 10; ++trial) EXPECT_EQ(epochs_of(*pruner, trial, curve), kEpochs);
  EXPECT_LT(epochs_of(*pruner, 10, curve), kEpochs);
}

TEST(Curve, StopsNothingBeforeItsLeastResource) {
  const auto pruner = make({{"min_resource", "7"}});
  const auto curve = [](TrialId trial, int) { return static_cast<double>(trial); };
  for (TrialId trial = 0; trial < 10; ++trial) (void)epochs_of(*pruner, trial, curve);
  EXPECT_EQ(epochs_of(*pruner, 100, curve), 7);
}

TEST(Curve, LetsEqualTrialsGoOn) {
  const auto pruner = make();
  for (TrialId trial = 0; trial < 20; ++trial)
    EXPECT_EQ(epochs_of(*pruner, trial, [](TrialId, int) { return 0.3; }), kEpochs);
}

TEST(Curve, StopsNothingWhereTrialsHaveOneEpoch) {
  const auto pruner = make({}, 1);
  for (TrialId trial = 0; trial < 30; ++trial)
    EXPECT_EQ(pruner->judge(trial, 1, static_cast<double>(trial)), Advice::kContinue);
}

TEST(Curve, RefusesAProbabilityAboveOne) {
  const auto pruner = make_pruner("curve", {.max_epochs = 9, .options = {{"probability", "2"}}});
  ASSERT_FALSE(pruner);
  EXPECT_EQ(pruner.error().code, ErrorCode::kInput);
}

}  // namespace
}  // namespace detol

#include "scheduler/pruners/pruner.h"

#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

bool stops(Pruner& pruner, TrialId trial, int epoch, double value) {
  return pruner.judge(trial, epoch, value) != Advice::kContinue;
}

std::unique_ptr<Pruner> make(std::string_view name, int max_epochs,
                             std::map<std::string, std::string> options = {}) {
  return make_pruner(name, {.max_epochs = max_epochs, .options = std::move(options)}).value();
}

TEST(Pruners, AnUnknownNameIsAUsageErrorWithAGuess) {
  const auto pruner = make_pruner("ahsa", {});
  ASSERT_FALSE(pruner);
  EXPECT_EQ(pruner.error().code, ErrorCode::kUsage);
  EXPECT_NE(pruner.error().message.find("did you mean 'asha'?"), std::string::npos);
}

// Promotes trials until the pruner names no more, and returns them.
std::vector<TrialId> promotions(Pruner& pruner) {
  std::vector<TrialId> promoted;
  while (const auto next = pruner.promotion()) {
    promoted.push_back(*next);
    pruner.withdraw(*next);
  }
  return promoted;
}

using Promoted = std::vector<TrialId>;

TEST(Asha, PromotesTheBestThirdOfARungAsItGrows) {
  const auto asha = make("asha", 9);
  const std::vector<double> losses = {5, 4, 4.5, 7, 3, 3.5};
  const std::vector<Promoted> expected = {{}, {}, {1}, {}, {}, {}};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_EQ(asha->judge(i, 1, losses[i]), i < 4 ? Advice::kPause : Advice::kContinue) << i;
    EXPECT_EQ(promotions(*asha), expected[i]) << "arrival " << i;
  }
}

TEST(Asha, LetsATrialGoOnOnlyIfItIsTheNextToPromote) {
  const auto asha = make("asha", 9);
  for (TrialId trial : {0u, 1u, 2u}) (void)asha->judge(trial, 1, 5.0 + double(trial));
  for (TrialId trial : {3u, 4u}) (void)asha->judge(trial, 1, 9);
  EXPECT_EQ(asha->judge(5, 1, 5.5), Advice::kPause) << "two of six may go on; trial 0 is before it";
  EXPECT_EQ(promotions(*asha), (Promoted{0, 5}));
}

TEST(Asha, PromotesTheBestFirst) {
  const auto asha = make("asha", 9);
  const std::vector<double> losses = {2, 1, 3, 9, 8, 7, 6, 5, 4};
  for (TrialId trial = 0; trial < 9; ++trial) (void)asha->judge(trial, 1, losses[trial]);
  EXPECT_EQ(promotions(*asha), (Promoted{1, 0, 2}));
}

TEST(Asha, PromotesFromTheHighestRungFirst) {
  const auto asha = make("asha", 9);
  for (TrialId trial = 0; trial < 9; ++trial) (void)asha->judge(trial, 1, double(trial));
  EXPECT_EQ(promotions(*asha), (Promoted{0, 1, 2}));
  for (TrialId trial = 0; trial < 3; ++trial) (void)asha->judge(trial, 3, 1.0 + double(trial));
  for (TrialId trial = 9; trial < 12; ++trial) (void)asha->judge(trial, 1, -double(trial));
  EXPECT_EQ(promotions(*asha), (Promoted{0, 11, 10, 9}));
}

TEST(Asha, OfEqualValuesPromotesTheFirstTrial) {
  const auto asha = make("asha", 9);
  for (TrialId trial : {4u, 2u, 3u}) (void)asha->judge(trial, 1, 0.5);
  EXPECT_EQ(promotions(*asha), Promoted{2});
}

TEST(Asha, DoesNotPromoteWhatAnEarlierPromotionLeftNoPlaceFor) {
  const auto asha = make("asha", 9);
  for (TrialId trial : {0u, 1u, 2u}) (void)asha->judge(trial, 1, 5.0 + double(trial));
  EXPECT_EQ(promotions(*asha), Promoted{0});
  (void)asha->judge(3, 1, 6);  // second best of four, where one may continue
  EXPECT_EQ(promotions(*asha), Promoted{});
}

std::unique_ptr<Pruner> make_for_two(std::string_view name,
                                     std::map<std::string, std::string> options,
                                     std::vector<bool> fixed = {}) {
  return make_pruner(name, {.others = {Direction::kMinimize},
                            .fixed = std::move(fixed),
                            .max_epochs = 6,
                            .options = std::move(options)})
      .value();
}

TEST(Median, WithSeveralObjectivesStopsWhatMoreThanHalfOfTheOthersDominate) {
  const auto pruner = make_for_two("median", {{"warmup_trials", "4"}, {"warmup_epochs", "0"}});
  const auto stops = [&](TrialId trial, double first, double second) {
    const std::vector<double> values = {first, second};
    return pruner->judge_all(trial, 1, values) != Advice::kContinue;
  };
  for (TrialId i = 0; i < 4; ++i) EXPECT_FALSE(stops(i, 1.0 + double(i), 4.0 - double(i)));
  EXPECT_FALSE(stops(4, 9, 0.5));    // the worst in the first, the best in the second
  EXPECT_TRUE(stops(5, 5, 5));       // dominated by four of five
  EXPECT_FALSE(stops(6, 2.5, 3.5));  // dominated by one of six
}

TEST(Curve, WithSeveralObjectivesStopsWhatWillBeDominatedAndNotWhatIsCheap) {
  const auto pruner = make_for_two("curve", {{"startup", "6"}}, {false, true});
  // Curves that end as they begin, but for a small fall; the second objective is a cost.
  const auto advice = [&](TrialId trial, int epoch, double level, double cost) {
    const std::vector<double> values = {level + 0.01 * double(trial % 3) / epoch, cost};
    return pruner->judge_all(trial, epoch, values);
  };
  for (TrialId trial = 0; trial < 8; ++trial) {
    for (int epoch = 1; epoch <= 6; ++epoch)
      (void)advice(trial, epoch, 0.1 + 0.01 * double(trial), 100);
  }
  const auto ends_as = [&](TrialId trial, double level, double cost) {
    Advice last = Advice::kContinue;
    for (int epoch = 1; epoch <= 3; ++epoch) last = advice(trial, epoch, level, cost);
    return last;
  };
  EXPECT_EQ(ends_as(8, 0.9, 200), Advice::kStop);
  EXPECT_EQ(ends_as(9, 0.9, 99), Advice::kContinue);  // worse, but cheaper than all others
  EXPECT_EQ(ends_as(10, 0.9, 100), Advice::kStop);    // as cheap as the others
}

TEST(Asha, PausesOnlyAtItsRungs) {
  const auto asha = make("asha", 30, {{"min_resource", "2"}, {"reduction_factor", "4"}});
  for (int epoch = 1; epoch <= 30; ++epoch) {
    const bool is_rung = epoch == 2 || epoch == 8;
    EXPECT_EQ(asha->judge(1, epoch, 1), is_rung ? Advice::kPause : Advice::kContinue) << epoch;
  }
}

// Accuracy and size: a small network that nothing dominates is among the best, however inaccurate.
TEST(Asha, WithSeveralObjectivesPromotesWhatFewestDominate) {
  for (const char* name : {"asha", "hyperband"}) {
    const auto pruner = make_pruner(name, {.direction = Direction::kMaximize,
                                           .others = {Direction::kMinimize},
                                           .max_epochs = 2,
                                           .options = {{"reduction_factor", "2"}}})
                            .value();
    const auto judge = [&](TrialId trial, double accuracy, double params) {
      const std::array values = {accuracy, params};
      return pruner->judge_all(trial, 1, values);
    };
    std::vector<TrialId> paused;
    for (TrialId trial = 0; paused.size() < 4; ++trial) {
      const std::size_t n = paused.size();  // large, small, dominated by the first, and by both
      const double accuracy = std::array{0.9, 0.5, 0.8, 0.4}[n];
      const double params = std::array{100.0, 1.0, 200.0, 300.0}[n];
      if (judge(trial, accuracy, params) == Advice::kPause) paused.push_back(trial);
    }
    EXPECT_EQ(promotions(*pruner), (Promoted{paused[0], paused[1]})) << name;
  }
}

TEST(Asha, HasARungAtEveryEarlyReport) {
  const auto asha =
      make_pruner("asha", {.max_epochs = 9, .early_reports = {1.0 / 9, 1.0 / 3}}).value();
  for (const double epochs : {1.0 / 9, 1.0 / 3, 1.0, 3.0})
    EXPECT_EQ(asha->judge(1, epochs, 1), Advice::kPause) << epochs;
}

// Rungs at 1 and 3: of 33 trials 18 begin at 1, 9 at 3, and 6 have no rung.
TEST(Hyperband, SpreadsTrialsOverBracketsBySharesOfEqualCost) {
  const auto hyperband = make("hyperband", 9);
  std::map<int, int> begun;  // by the first rung; 9: none
  std::vector<int> first;
  for (TrialId trial = 0; trial < 33; ++trial) {
    int rung = 1;
    while (rung < 9 && hyperband->judge(trial, rung, 1) == Advice::kContinue) rung *= 3;
    ++begun[rung];
    first.push_back(rung);
  }
  EXPECT_EQ(begun, (std::map<int, int>{{1, 18}, {3, 9}, {9, 6}}));
  EXPECT_EQ(std::vector(first.begin(), first.begin() + 4), (std::vector{1, 3, 1, 9}));
}

TEST(Hyperband, PromotesWithinABracketAlone) {
  const auto hyperband = make("hyperband", 9);
  (void)hyperband->judge(0, 1, 5);  // bracket 0, as trials 2 and 4
  (void)hyperband->judge(1, 3, 0);  // bracket 1
  (void)hyperband->judge(2, 1, 3);
  EXPECT_EQ(promotions(*hyperband), Promoted{});
  (void)hyperband->judge(4, 1, 4);
  EXPECT_EQ(promotions(*hyperband), Promoted{2});
}

TEST(Pruners, JudgeWholeEpochsAloneUnlessTheyHaveRungs) {
  for (const char* name : {"median", "curve"}) {
    const auto pruner =
        make_pruner(name, {.max_epochs = 9, .early_reports = {0.5}, .options = {}}).value();
    for (TrialId trial = 0; trial < 20; ++trial)
      EXPECT_EQ(pruner->judge(trial, 0.5, static_cast<double>(trial)), Advice::kContinue) << name;
  }
}

TEST(Asha, TheFullLengthIsNoRung) {
  const auto asha = make("asha", 9);
  EXPECT_EQ(asha->judge(0, 9, 0), Advice::kContinue);
}

TEST(Asha, ATrialThatEndedKeepsItsPlaceAndIsNotPromoted) {
  const auto asha = make("asha", 9);
  for (TrialId trial = 0; trial < 3; ++trial) (void)asha->judge(trial, 1, double(trial));
  asha->withdraw(0);
  EXPECT_EQ(promotions(*asha), Promoted{});
}

TEST(Asha, RefusesImpossibleOptions) {
  const auto asha = make_pruner("asha", {.max_epochs = 9, .options = {{"reduction_factor", "1"}}});
  ASSERT_FALSE(asha);
  EXPECT_EQ(asha.error().code, ErrorCode::kInput);
  EXPECT_EQ(asha.error().message,
            "asha: reduction_factor is '1'; it must be a whole number from 2 to 1000");
}

// The means of the others after epoch 2 are 3, 5 and 6.
std::unique_ptr<Pruner> median_of_three() {
  auto median = make("median", 9, {{"warmup_trials", "3"}});
  const double curves[3][2] = {{4, 2}, {6, 4}, {9, 3}};
  for (TrialId trial = 0; trial < 3; ++trial) {
    for (int epoch = 1; epoch <= 2; ++epoch)
      (void)stops(*median, trial, epoch, curves[trial][epoch - 1]);
  }
  return median;
}

TEST(Median, StopsWhatIsWorseThanTheMedianOfTheOthersMeans) {
  const auto median = median_of_three();
  EXPECT_FALSE(stops(*median, 10, 1, 8));
  EXPECT_TRUE(stops(*median, 10, 2, 5.5));
}

TEST(Median, LetsTheMedianItselfGoOn) {
  const auto median = median_of_three();
  EXPECT_FALSE(stops(*median, 10, 1, 8));
  EXPECT_FALSE(stops(*median, 10, 2, 5));
}

TEST(Median, JudgesByTheBestEpochSoFar) {
  const auto median = median_of_three();
  EXPECT_FALSE(stops(*median, 10, 1, 4));
  EXPECT_FALSE(stops(*median, 10, 2, 100));
}

TEST(Median, WaitsForItsWarmUp) {
  const auto median = make("median", 9, {{"warmup_trials", "2"}, {"warmup_epochs", "2"}});
  const bool expected[3][3] = {
      {false, false, false}, {false, false, false}, {false, false, true}};  // trial, epoch
  for (TrialId trial = 0; trial < 3; ++trial) {
    for (int epoch = 1; epoch <= 3; ++epoch) {
      EXPECT_EQ(stops(*median, trial, epoch, static_cast<double>(trial)),
                expected[trial][epoch - 1])
          << "trial " << trial << " epoch " << epoch;
    }
  }
}

class GainTest : public testing::Test {
 protected:
  GainTest() {
    for (TrialId trial = 0; trial < 12; ++trial) {
      for (int epoch = 1; epoch <= 9; ++epoch) {
        if (report(trial, epoch, end_of(trial)) == Advice::kPause) gain->withdraw(trial);
      }
    }
  }
  // Ends between .30 and .41, each after a fall of its own.
  static double end_of(TrialId trial) { return 0.3 + 0.01 * static_cast<double>(trial * 7 % 12); }
  Advice report(TrialId trial, int epoch, double end) {
    const double fall = 0.5 + 0.01 * static_cast<double>(trial % 5);
    return gain->judge(trial, epoch, end + fall / epoch);
  }

  const std::unique_ptr<Pruner> gain = make("gain", 9);
};

TEST_F(GainTest, GoesOnWithWhatMayBecomeTheBestAndPausesWhatWillHardly) {
  EXPECT_EQ(report(20, 1, 0.28), Advice::kContinue);
  EXPECT_EQ(report(21, 1, 0.6), Advice::kPause);
  EXPECT_EQ(gain->promotion(), std::nullopt) << "a new trial promises more";
}

TEST_F(GainTest, ResumesAPausedTrialOnceNewOnesPromiseLess) {
  EXPECT_EQ(report(20, 1, 0.36), Advice::kPause);
  EXPECT_EQ(gain->promotion(), std::nullopt);
  for (TrialId trial = 30; trial < 150; ++trial) (void)report(trial, 1, 1.5);
  EXPECT_EQ(gain->promotion(), 20u);
  gain->withdraw(20);
  EXPECT_NE(gain->promotion(), 20u);
}

TEST(Gain, TrainsTheFirstAndThenTheBetterOfTwoUntilFourHaveEnded) {
  const auto gain = make("gain", 9);
  EXPECT_EQ(gain->judge(0, 1, 5), Advice::kContinue);
  EXPECT_EQ(gain->judge(1, 1, 4), Advice::kPause);
  EXPECT_EQ(gain->promotion(), std::nullopt);
  EXPECT_EQ(gain->judge(2, 1, 6), Advice::kPause);
  EXPECT_EQ(promotions(*gain), Promoted{1});
  for (int epoch = 2; epoch <= 9; ++epoch)
    EXPECT_EQ(gain->judge(0, epoch, 5.0), Advice::kContinue) << epoch;
  EXPECT_EQ(gain->judge(3, 1, 7), Advice::kPause);
  EXPECT_EQ(gain->judge(4, 1, 3), Advice::kContinue) << "the best that is paused";
  EXPECT_EQ(promotions(*gain), Promoted{});
}

TEST(Gain, LooksFirstWhereATrialReportsFirst) {
  const auto gain = make("gain", 9);
  EXPECT_EQ(gain->judge(0, 3, 5), Advice::kContinue);
  EXPECT_EQ(gain->judge(1, 3, 6), Advice::kPause);
  EXPECT_EQ(gain->judge(2, 3, 7), Advice::kPause);
  EXPECT_EQ(gain->promotion(), 1u);
}

TEST(Gain, JudgesEverMoreSeldom) {
  const auto gain =
      make_pruner("gain", {.max_epochs = 9, .early_reports = {0.5}, .options = {}}).value();
  std::vector<double> decisions = {0};
  while (decisions.back() < 9) decisions.push_back(gain->undecided(0, decisions.back()));
  EXPECT_EQ(decisions, (std::vector<double>{0, 0.5, 1, 2, 3, 5, 8, 9}));
}

}  // namespace
}  // namespace detol

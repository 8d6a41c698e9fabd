#include "search/gp_arms.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace detol {
namespace {

// Also the number of failures in a row that halve a region.
constexpr std::size_t kDimensions = 6;

Space cube() {
  SpaceBuilder builder;
  for (std::size_t i = 0; i < kDimensions; ++i) builder.add_float("x" + std::to_string(i), 0, 1);
  return builder.build().value();
}

// Failures in a row that halve a region in branched().
constexpr std::size_t kBranchPatience = 4;

// Two branches with a number each.
Space branched() {
  return SpaceBuilder()
      .add_categorical("kind", {"a", "b"})
      .add_float("x", 0, 1, {.when = {"kind", {"a"}}})
      .add_float("y", 0, 1, {.when = {"kind", {"b"}}})
      .build()
      .value();
}

class Arms {
 public:
  explicit Arms(Space space = cube(), bool has_bound = false)
      : space_(std::move(space)), arms_(space_, 0.5, has_bound) {}

  // Tells the outcome of a trial whose numbers are all `at`, of branch number `kind`.
  void tell(std::string_view proposer, double outcome, double at = 0.5, double kind = 0) {
    std::vector<double> unit(space_.size(), at);
    if (space_.domains()[0].kind == DomainKind::kCategorical)
      unit[0] = (kind + 0.5) / space_.domains()[0].cardinality();
    arms_.tell({told_++, space_.at(unit), std::string(proposer)}, outcome);
  }

  void fail(std::string_view arm, std::size_t times, double at = 0.5) {
    for (std::size_t i = 0; i < times; ++i) tell(arm, 20, at);
  }

  // Tells the outcome of a trial of the restart that goes on, or of the next one.
  void tell_restart(double outcome, double at, double kind = 0) {
    tell(arms_.proposer_of(restart()), outcome, at, kind);
  }

  void fail_restart(std::size_t times, double at) {
    const std::string proposer = arms_.proposer_of(restart());
    for (std::size_t i = 0; i < times; ++i) tell(proposer, 20, at);
  }

  // What is next where a restart may begin anywhere.
  GpArms::Next next(std::size_t most = 1) const {
    return arms_.next([](std::size_t, std::size_t) { return true; }, most);
  }
  TrustRegion restart() const { return next().in_restarts.at(0); }

  const GpArms& operator*() const { return arms_; }
  const GpArms* operator->() const { return &arms_; }

 private:
  Space space_;
  GpArms arms_;
  TrialId told_ = 100;
};

// The best outcome so far is 1.
Arms begun() {
  Arms arms;
  arms.tell("another", 1);
  return arms;
}

// The leader, 1 at 0.1, is stalled; outcomes at 0.9 were 5, and at 0.8, in the same basin, 7.
void stall(Arms& arms) {
  for (double at : {0.3, 0.4, 0.5, 0.6, 0.62}) arms.tell("another", 9, at);
  arms.tell("another", 7, 0.8);
  arms.tell("another", 5, 0.9);
  arms.tell("another", 1, 0.1);
  arms.fail(kRegionArm, 2 * kDimensions, 0.1);
}

TEST(GpArms, TheRegionIsHalvedAfterAsManyFailuresAsThereAreDimensions) {
  Arms failing = begun();
  const double before = failing->region().side;
  failing.fail(kRegionArm, kDimensions - 1);
  EXPECT_EQ(failing->region().side, before);
  failing.fail(kRegionArm, 1);
  EXPECT_EQ(failing->region().side, before / 2);
  failing.fail(kRegionArm, kDimensions);
  EXPECT_EQ(failing->region().side, before / 4);
}

TEST(GpArms, ASuccessLetsTheRegionCountItsFailuresAnew) {
  Arms failing = begun();
  const double before = failing->region().side;
  failing.fail(kRegionArm, kDimensions - 1);
  failing.tell(kRegionArm, 0.5);
  failing.fail(kRegionArm, kDimensions - 1);
  EXPECT_EQ(failing->region().side, before);
}

TEST(GpArms, FailuresOfOthersDoNotNarrowTheRegion) {
  Arms failing = begun();
  const double before = failing->region().side;
  failing.fail(kGlobalArm, 10 * kDimensions);
  failing.fail("gp restart 100", 10 * kDimensions);
  failing.fail("another", 10 * kDimensions);
  EXPECT_EQ(failing->region().side, before);
}

TEST(GpArms, TheRegionIsDoubledAfterThreeSuccessesInARow) {
  Arms lucky = begun();
  const double before = lucky->region().side;
  for (double outcome : {0.9, 0.8}) lucky.tell(kRegionArm, outcome);
  EXPECT_EQ(lucky->region().side, before);
  lucky.tell(kRegionArm, 0.7);
  EXPECT_EQ(lucky->region().side, 2 * before);
}

TEST(GpArms, ARegionInWhichNothingIsLeftToFindBeginsAgain) {
  Arms failing = begun();
  const double first = failing->region().side;
  double least = first;
  for (int i = 0; i < 20 && (i == 0 || failing->region().side < first); ++i) {
    failing.fail(kRegionArm, kDimensions);
    least = std::min(least, failing->region().side);
  }
  EXPECT_EQ(failing->region().side, first);
  EXPECT_LT(least, 0.05);
}

TEST(GpArms, TheArmThatImprovesGetsMoreTrialsAndTheOtherItsLeastShare) {
  Arms lucky = begun();
  double outcome = 1;
  for (int i = 0; i < 40; ++i) {
    lucky.tell(kRegionArm, outcome *= 0.9);
    lucky.tell(kGlobalArm, 2);
  }
  EXPECT_DOUBLE_EQ(lucky.next().region, 0.8);
  EXPECT_DOUBLE_EQ(begun().next().region, 0.5);
}

TEST(GpArms, TheBoundGetsMoreOfWhatLooksEverywhereTheMoreOftenItImproves) {
  Arms arms(cube(), true);
  arms.tell("another", 1);
  EXPECT_DOUBLE_EQ(arms.next().region, 0.5);
  EXPECT_DOUBLE_EQ(arms.next().bound, 0.25);
  double outcome = 1;
  for (int i = 0; i < 40; ++i) {
    arms.tell(kBoundArm, outcome *= 0.9);
    arms.tell(kGlobalArm, 2);
  }
  EXPECT_DOUBLE_EQ(arms.next().bound, 0.8 * (1 - arms.next().region));
  EXPECT_EQ(begun().next().bound, 0);
}

TEST(GpArms, BesideAStalledLeaderNothingIsProposedByTheBound) {
  Arms arms(cube(), true);
  arms.tell("another", 1, 0.1);
  EXPECT_GT(arms.next().bound, 0);
  arms.fail(kRegionArm, 2 * kDimensions, 0.1);
  EXPECT_EQ(arms.next().bound, 0);
}

TEST(GpArms, AStalledLeaderGivesHalfOfTheTrialsToARestartInTheBestOtherBasin) {
  Arms arms;
  stall(arms);
  arms.fail(kRegionArm, 100, 0.1);  // all trials are the searcher's own
  EXPECT_NEAR(arms.next().restart, 0.5, 0.01);
  EXPECT_EQ(arms.restart().best, 5);
}

TEST(GpArms, WhereOthersMakeTrialsMoreOfTheOwnAreRestarts) {
  Arms arms;
  stall(arms);
  for (int i = 0; i < 50; ++i) {
    arms.fail(kRegionArm, 2, 0.1);
    arms.fail("another", 1, 0.1);
  }
  EXPECT_NEAR(arms.next().restart, 0.75, 0.02);
}

TEST(GpArms, WithoutATestOfStartsNothingRestarts) {
  Arms arms;
  stall(arms);
  EXPECT_EQ(arms->next({}).restart, 0);
  EXPECT_TRUE(arms->next({}).in_restarts.empty());
}

TEST(GpArms, WhileTheLeaderImprovesNothingRestarts) {
  Arms arms;
  stall(arms);
  arms.tell(kGlobalArm, 0.5, 0.1);
  EXPECT_EQ(arms.next().restart, 0);
}

TEST(GpArms, ARestartThatDoesNotCloseItsGapEndsAndItsBasinIsNotTriedAgain) {
  Arms arms;
  stall(arms);
  arms.fail_restart(3 * kDimensions, 0.95);
  ASSERT_FALSE(arms.next().in_restarts.empty());
  EXPECT_EQ(arms.restart().best, 9);  // at 0.5 or so; 0.8 is of the basin of 0.9
}

TEST(GpArms, AnOutcomeAfterTheEndOfItsRestartCountsForNoOther) {
  Arms arms;
  stall(arms);
  const std::string first = arms->proposer_of(arms.restart());
  arms.fail_restart(3 * kDimensions, 0.95);
  arms.tell_restart(20, 0.5);
  const GpArms::Next before = arms.next();
  arms.fail(first, 3 * kDimensions, 0.95);
  EXPECT_EQ(arms.restart().start, before.in_restarts[0].start);
  EXPECT_EQ(arms.restart().in_failure, before.in_restarts[0].in_failure);
}

TEST(GpArms, ARestartThatWalksIntoTheLeadersBasinEnds) {
  Arms arms;
  stall(arms);
  arms.tell_restart(2, 0.2);
  ASSERT_FALSE(arms.next().in_restarts.empty());
  EXPECT_EQ(arms.restart().best, 9);
}

TEST(GpArms, NoRestartBeginsBesideTheLeaderWhereAnOutcomeIsAsGood) {
  Arms arms;
  stall(arms);
  arms.tell("another", 1, 0.15);
  EXPECT_EQ(arms.restart().best, 5);
}

TEST(GpArms, SeveralRestartsGoOnAtATimeEachByItsOwnOutcomes) {
  Arms arms;
  stall(arms);
  const std::vector<TrustRegion> two = arms.next(2).in_restarts;
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].best, 5);
  EXPECT_EQ(two[1].best, 9);
  arms.tell(arms->proposer_of(two[1]), 8, 0.5);
  arms.tell(arms->proposer_of(two[0]), 4.9, 0.9);
  EXPECT_EQ(arms.next(2).in_restarts[0].best, 8) << "it was the first to have an outcome";
  EXPECT_EQ(arms.next(2).in_restarts[1].best, 4.9);
  arms.fail(arms->proposer_of(two[0]), 3 * kDimensions, 0.9);
  EXPECT_EQ(arms.restart().start, two[1].start) << "the other has ended";
  EXPECT_EQ(arms.restart().in_failure, 0);
}

TEST(GpArms, RestartsAtATimeAreOfBranchesThatAreOwedOne) {
  Arms arms(SpaceBuilder()
                .add_categorical("kind", {"a", "b", "c"})
                .add_float("x", 0, 1, {.when = {"kind", {"a"}}})
                .add_float("y", 0, 1, {.when = {"kind", {"b"}}})
                .add_float("z", 0, 1, {.when = {"kind", {"c"}}})
                .build()
                .value());
  for (double outcome : {1.0, 2.0, 3.0}) arms.tell("another", outcome, outcome / 4, 0);
  for (double outcome : {4.0, 5.0, 6.0}) arms.tell("another", outcome, outcome / 7, 1);
  for (double outcome : {7.0, 8.0, 9.0}) arms.tell("another", outcome, outcome / 10, 2);
  const std::vector<TrustRegion> two = arms.next(2).in_restarts;
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].best, 4);
  EXPECT_EQ(two[1].best, 7) << "the best of the third branch, not the next best of the second";
}

TEST(GpArms, NothingRestartsWhereTheTestForbidsIt) {
  Arms arms;
  stall(arms);
  const auto not_the_best = [](std::size_t start, std::size_t) { return start != 6; };  // told 5
  EXPECT_EQ(arms->next(not_the_best).in_restarts.at(0).best, 9);
  arms.tell_restart(4.9, 0.9);
  const std::size_t start = arms.restart().start;
  const auto not_the_last = [](std::size_t at, std::size_t) { return at < 8; };
  EXPECT_NE(arms->next(not_the_last).in_restarts.at(0).start, start);
}

TEST(GpArms, ARestartThatFindsABetterBasinLeads) {
  Arms arms;
  stall(arms);
  arms.tell_restart(0.5, 0.95);
  EXPECT_EQ(arms->region().best, 0.5);
  arms.fail(kRegionArm, 2 * kDimensions, 0.95);
  ASSERT_FALSE(arms.next().in_restarts.empty());
  EXPECT_EQ(arms.restart().best, 9) << "the leader before was descended";
}

TEST(GpArms, EveryBranchIsOwedADescent) {
  Arms arms(branched());
  for (double outcome : {1.0, 2.0, 3.0, 4.0}) arms.tell("another", outcome, outcome / 5, 0);
  for (double outcome : {5.0, 6.0, 7.0, 8.0}) arms.tell("another", outcome, outcome / 10, 1);
  ASSERT_FALSE(arms.next().in_restarts.empty());
  EXPECT_EQ(arms.restart().best, 5);
  EXPECT_GT(arms.next().restart, 0.5);
  for (int i = 0; i < 8; ++i) arms.tell_restart(9, 0.3, 1);
  EXPECT_EQ(arms.next().restart, 0) << "both branches had theirs, and the leader is not stalled";
}

// The first branch leads, and a restart in the second one overtakes it.
Arms overtaken(std::size_t trials_of_the_region) {
  Arms arms(branched());
  for (double outcome : {1.0, 2.0, 3.0, 4.0}) arms.tell("another", outcome, outcome / 5, 0);
  for (double outcome : {5.0, 6.0, 7.0, 8.0}) arms.tell("another", outcome, outcome / 10, 1);
  arms.fail(kRegionArm, trials_of_the_region);
  arms.tell_restart(0.5, 0.3, 1);
  EXPECT_EQ(arms->region().best, 0.5);
  return arms;
}

TEST(GpArms, ABranchIsStillOwedADescentIfItLedTooShortlyForOne) {
  const Arms at_once = overtaken(kBranchPatience - 1);
  EXPECT_GT(at_once.next().restart, 0.5);
  EXPECT_EQ(at_once.restart().best, 1);
  EXPECT_EQ(overtaken(kBranchPatience).next().restart, 0);
}

TEST(GpArms, InBranchesTheFailuresOfAllArmsStallTheLeader) {
  Arms arms = overtaken(kBranchPatience);
  arms.fail(kGlobalArm, kBranchPatience);
  arms.fail(kBoundArm, kBranchPatience - 1);
  EXPECT_FALSE(arms.next().is_stalled);
  arms.fail(kGlobalArm, 1);
  EXPECT_TRUE(arms.next().is_stalled);
  arms.tell(kGlobalArm, 0.4, 0.3, 1);
  EXPECT_FALSE(arms.next().is_stalled) << "it improved";
}

TEST(GpArms, WithoutBranchesTheFailuresOfOtherArmsDoNotStallTheLeader) {
  Arms arms = begun();
  arms.fail(kGlobalArm, 10 * kDimensions);
  EXPECT_FALSE(arms.next().is_stalled);
}

// Each trial of the restart closes a fifth of what is left of its gap.
TEST(GpArms, ADescentInABranchThatHardlyNearsTheLeaderEnds) {
  Arms arms(branched());
  for (double outcome : {1.0, 2.0, 3.0, 4.0}) arms.tell("another", outcome, outcome / 5, 0);
  for (double outcome : {5.0, 6.0, 7.0, 8.0}) arms.tell("another", outcome, outcome / 10, 1);
  double gap = 4;
  for (int i = 0; i < 8; ++i) arms.tell_restart(1 + (gap *= 0.8), 0.3, 1);
  EXPECT_EQ(arms.next().restart, 0);
}

}  // namespace
}  // namespace detol

// Budgets through whole studies: what counts, when a study ends, and how a larger one resumes.

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::Mishap;

constexpr int kWorkers = 3;
constexpr double kTurnS = 1;  // the driver notices the end of the time this late

class EveryUnit : public testing::TestWithParam<const char*> {};

TEST_P(EveryUnit, EndsTheStudyAtMostOneEpochPerRunningTrialLate) {
  FakeStudy study(kWorkers);
  study.budget = GetParam();
  ASSERT_TRUE(study.run());
  const Budget budget = parse_budget(GetParam()).value();
  const Spent& spent = study.driver->state().spent();
  EXPECT_GE(budget.used(spent), 1);
  const double epoch_s = study.pool.epoch_s + kTurnS;
  EXPECT_LE(spent.wall_s, budget.wall_s.value_or(1e9) + epoch_s);
  EXPECT_LE(spent.device_s, budget.cpu_s.value_or(1e9) + kWorkers * epoch_s);
  EXPECT_LE(spent.device_s, budget.gpu_s.value_or(1e9) + kWorkers * epoch_s);
  EXPECT_LE(spent.trials, budget.trials.value_or(1e9));
  EXPECT_LE(spent.work, budget.work.value_or(1e9) + kWorkers * 10);
  EXPECT_EQ(study.driver->state().running(), 0);
}

TEST_P(EveryUnit, MoreOfItContinuesWhatWasCutBehindItsLastEpoch) {
  FakeStudy study(kWorkers);
  study.budget = GetParam();
  ASSERT_TRUE(study.run());
  FakeStudy more(kWorkers, study.ledger);
  Budget twice = parse_budget(GetParam()).value();
  for (auto limit :
       {&Budget::wall_s, &Budget::cpu_s, &Budget::gpu_s, &Budget::trials, &Budget::work}) {
    if (twice.*limit) *(twice.*limit) *= 2;
  }
  more.budget = to_text(twice);
  ASSERT_TRUE(more.run());
  for (const TrialRecord& cut : study.driver->state().trials()) {
    if (cut.reason.cause != EndCause::kBudget) continue;
    const auto resumed = std::ranges::find(more.pool.started, cut.trial.id, &message::Train::trial);
    ASSERT_NE(resumed, more.pool.started.end());
    EXPECT_EQ(resumed->acknowledged, cut.epochs);
    EXPECT_EQ(more.trial(cut.trial.id).state, TrialState::kComplete);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryUnit,
                         testing::Values("21s", "0.5min", "0.01h", "0.0003d", "63cpu-s", "1cpu-min",
                                         "0.02cpu-h", "0.001cpu-d", "63gpu-s", "1gpu-min",
                                         "0.02gpu-h", "0.001gpu-d", "7trials", "330flops",
                                         "500trials,21s", "7trials,1h,1e9flops"));

TEST(BudgetOfAStudy, AtTheEndOfTheTimeARunningTrialEndsItsEpochAndIsPruned) {
  FakeStudy study(3);
  study.budget = "30cpu-s";
  ASSERT_TRUE(study.run());
  EXPECT_LE(study.clock.now, 11);  // 10 s, and at most one epoch
  EXPECT_TRUE(study.pool.is_retired);
  const auto pruned = study.driver->state().in_state(TrialState::kPruned);
  ASSERT_EQ(pruned.size(), 3u);
  EXPECT_EQ(study.trial(pruned[0]).reason.cause, EndCause::kBudget);
  EXPECT_GE(events_of<event::Accounted>(study.ledger).back().device_s, 30);
}

TEST(BudgetOfAStudy, MoreBudgetContinuesWhatTheBudgetPruned) {
  FakeStudy study(1);
  study.budget = "50flops";  // one trial of 40 and one epoch of the next
  ASSERT_TRUE(study.run());
  ASSERT_EQ(study.trial(1).reason.cause, EndCause::kBudget);
  FakeStudy more(1, study.ledger);
  more.budget = "80flops";
  ASSERT_TRUE(more.run());
  EXPECT_EQ(more.pool.started[0].trial, 1u);
  EXPECT_EQ(more.pool.started[0].acknowledged, 1);
  EXPECT_EQ(more.trial(1).state, TrialState::kComplete);
  EXPECT_EQ(more.driver->state().trials().size(), 2u);
}

TEST(BudgetOfAStudy, ATrialThatDivergesAtOnceIsOneOfTheBudget) {
  FakeStudy study;
  study.budget = "3trials";
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial > 0 ? Mishap::kDiverge : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().trials().size(), 3u);
}

TEST(BudgetOfAStudy, CountsOnlyTrialsThatWereTrained) {
  FakeStudy study;
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 0.1}).build().value();
  study.config.algorithm.name = "random";
  study.refuses = [](double x) { return x > 0.75; };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().spent().trials, 6);
  EXPECT_GT(study.driver->state().trials().size(), 6u);
  std::set<TrialId> trained;
  for (const message::Train& train : study.pool.started) trained.insert(train.trial);
  EXPECT_EQ(trained.size(), 6u);
}

TEST(BudgetOfAStudy, CountsATrialOnceHoweverOftenItIsTried) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    return train.attempt < 3 && epoch == 1 ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().spent().trials, 6);
  EXPECT_EQ(study.driver->state().in_state(TrialState::kComplete).size(), 6u);
}

TEST(BudgetOfAStudy, ATimeThatIsUsedUpStartsNothingOnResume) {
  FakeStudy study;
  study.budget = "10s";
  ASSERT_TRUE(study.run());
  FakeStudy again(1, study.ledger);
  again.budget = "10s";
  ASSERT_TRUE(again.run());
  EXPECT_TRUE(again.pool.started.empty());
}

TEST(BudgetOfAStudy, DeviceTimeThatIsUsedUpStartsNothingOnResume) {
  for (const char* budget : {"20cpu-s", "20gpu-s"}) {
    FakeStudy study(2);
    study.budget = budget;
    ASSERT_TRUE(study.run());
    FakeStudy again(2, study.ledger);
    again.budget = budget;
    ASSERT_TRUE(again.run());
    EXPECT_TRUE(again.pool.started.empty()) << budget;
  }
}

TEST(BudgetOfAStudy, IsTheSumOfAllItsRuns) {
  FakeStudy study(2);
  study.budget = "20cpu-s";
  ASSERT_TRUE(study.run());
  const Spent before = study.driver->state().spent();
  FakeStudy more(2, study.ledger);
  more.budget = "40cpu-s";
  ASSERT_TRUE(more.run());
  const Spent& after = more.driver->state().spent();
  EXPECT_EQ(after.device_s, before.device_s + 2 * more.clock.now);
  EXPECT_EQ(after.wall_s, before.wall_s + more.clock.now);
}

TEST(BudgetOfAStudy, IsCommittedEveryFewSecondsOfALongEpoch) {
  FakeStudy study(2);
  study.pool.epoch_s = 1000;
  study.budget = "300s";
  ASSERT_TRUE(study.run());
  double before_s = 0;
  for (const auto& accounted : events_of<event::Accounted>(study.ledger)) {
    EXPECT_LE(accounted.wall_s - before_s, 6);
    EXPECT_EQ(accounted.device_s, 2 * accounted.wall_s);
    before_s = accounted.wall_s;
  }
  EXPECT_GE(before_s, 300);
}

TEST(BudgetOfAStudy, AGroupUsesTheTimeOfItsRanks) {
  FakeStudy study;
  study.pool.group_size = 4;
  study.config.resources.max_trial_duration_s = 4.5;  // wall time
  ASSERT_TRUE(study.run());
  for (const auto& reported : events_of<event::Reported>(study.ledger))
    EXPECT_EQ(reported.train_s, 4);
  EXPECT_EQ(study.driver->state().in_state(TrialState::kComplete).size(), 6u);
}

}  // namespace
}  // namespace detol

// Budgets through whole studies: what counts, when a study ends, and how a larger one resumes.

#include <algorithm>
#include <map>
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
constexpr double kEpochS = 1.05;  // and the margin of its forecast

class EveryUnit : public testing::TestWithParam<const char*> {};

TEST_P(EveryUnit, HoldsAndLeavesLessThanAnEpochOfEachWorker) {
  FakeStudy study(kWorkers);
  study.budget = GetParam();
  ASSERT_TRUE(study.run());
  const Budget budget = parse_budget(GetParam()).value();
  const Spent& spent = study.driver->state().spent();
  EXPECT_LE(budget.used(spent), 1);
  const Spent with_one_more{.wall_s = spent.wall_s + kEpochS,
                            .device_s = spent.device_s + kWorkers * kEpochS,
                            .trials = spent.trials + 1,
                            .work = spent.work + kWorkers * 10};
  EXPECT_GT(budget.used(with_one_more), 1);
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

TEST(BudgetOfAStudy, ATrialWithoutTimeForAnotherEpochIsPruned) {
  FakeStudy study(3);
  study.budget = "31cpu-s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.clock.now, 10);
  EXPECT_TRUE(study.pool.is_retired);
  const auto pruned = study.driver->state().in_state(TrialState::kPruned);
  ASSERT_EQ(pruned.size(), 3u);
  EXPECT_EQ(study.trial(pruned[0]).reason.cause, EndCause::kBudget);
  EXPECT_EQ(events_of<event::Accounted>(study.ledger).back().device_s, 30);
}

TEST(BudgetOfAStudy, AWorkerWithoutTimeForItsNextEpochLeavesItToTheOthers) {
  FakeStudy study(2);
  study.epochs = 1000;
  study.pool.seconds = [](const message::Train& train, int) { return train.trial == 0 ? 60 : 1; };
  study.budget = "100cpu-s";  // 2 x 50 s: no report of trial 0 fits
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).epochs, 0);
  study.budget = "150cpu-s";  // after 60 s, 30 of device time are left
  FakeStudy second(2);
  second.epochs = 1000;
  second.pool.seconds = study.pool.seconds;
  second.budget = study.budget;
  ASSERT_TRUE(second.run());
  EXPECT_EQ(second.trial(0).epochs, 1);
  EXPECT_GE(second.trial(1).epochs, 60 + 28);  // alone from then on
  EXPECT_LE(second.driver->state().spent().device_s, 150);
}

// An epoch of 10 s is 20 s of device time, and 10 of the wall clock all the same.
TEST(BudgetOfAStudy, InWallTimeIsThatOfAGroupAndNotOfItsRanks) {
  FakeStudy study;
  study.epochs = 1000;
  study.pool.group_size = 2;
  study.pool.epoch_s = 10;
  study.budget = "35s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).epochs, 3);
  EXPECT_EQ(study.clock.now, 30);
}

// After 60 s 45 of device time are left, and trial 0 needs 40 of them.
TEST(BudgetOfAStudy, KeepsWhatItPromisedToALongEpoch) {
  FakeStudy study(2);
  study.epochs = 1000;
  study.pool.seconds = [](const message::Train& train, int) { return train.trial == 0 ? 50 : 10; };
  study.budget = "165cpu-s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).epochs, 2);
  EXPECT_EQ(study.trial(1).epochs, 6);
}

TEST(BudgetOfAStudy, SuspendsATrialWhoseEpochIsLongerThanForeseenAndResumesItThere) {
  FakeStudy study;
  study.epochs = 4;
  study.pool.seconds = [](const message::Train&, int epoch) { return epoch == 2 ? 50 : 5; };
  study.budget = "20s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.clock.now, 20);
  EXPECT_EQ(study.trial(0).reason.cause, EndCause::kBudget);
  EXPECT_EQ(study.trial(0).epochs, 1);
  EXPECT_EQ(events_of<event::Told>(study.ledger).back().unreported_s, 15);
  FakeStudy more(1, study.ledger);
  more.pool.seconds = study.pool.seconds;
  more.pool.left_s() = study.pool.left_s();
  more.budget = "200s";
  ASSERT_TRUE(more.run());
  EXPECT_EQ(more.pool.started[0].acknowledged, 1);
  EXPECT_EQ(more.trial(0).state, TrialState::kComplete);
  EXPECT_EQ(more.trial(0).unreported_s, 0);
}

TEST(BudgetOfAStudy, ATrialThatItEndsBeforeAnyReportIsPrunedAndTaughtNothing) {
  FakeStudy study;
  study.config.algorithm.name = "fake_model";
  study.pool.epoch_s = 60;
  study.budget = "20s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).state, TrialState::kPruned);
  EXPECT_EQ(study.trial(0).reason.cause, EndCause::kBudget);
  EXPECT_EQ(study.driver->state().best(), nullptr);
  EXPECT_TRUE(dynamic_cast<testing_support::FakeModel&>(*study.searcher).expected().contains(0));
  // However little each addition is, the epoch ends some day.
  MemoryLedger ledger = study.ledger;
  std::map<TrialId, double> left_s = study.pool.left_s();
  for (const char* budget : {"40s", "59s", "62s"}) {
    FakeStudy more(1, ledger);
    more.config.algorithm.name = "fake_model";
    more.pool.epoch_s = 60;
    more.pool.left_s() = left_s;
    more.budget = budget;
    ASSERT_TRUE(more.run());
    ledger = more.ledger;
    left_s = more.pool.left_s();
    EXPECT_EQ(more.trial(0).epochs, budget == std::string("62s") ? 1 : 0) << budget;
  }
}

TEST(BudgetOfAStudy, ForeseesPartsOfTheFirstEpochByTheirShare) {
  FakeStudy study;
  study.config.early_reports = {0.1};
  study.pool.epoch_s = 100;
  study.budget = "20.2s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.clock.now, 10);  // neither the rest of the epoch fits nor a second trial
  EXPECT_EQ(study.trial(0).epochs, 0.1);
  EXPECT_EQ(study.trial(0).reason.cause, EndCause::kBudget);
  FakeStudy more(1, study.ledger);
  more.config.early_reports = study.config.early_reports;
  more.pool.epoch_s = 100;
  more.budget = "106s";
  ASSERT_TRUE(more.run());
  EXPECT_EQ(more.trial(0).epochs, 1);
}

TEST(BudgetOfAStudy, GivesUpOnAWorkerThatDoesNotSuspend) {
  FakeStudy study;
  study.pool.epoch_s = 1000;
  study.pool.hears_suspend = false;
  study.budget = "20s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.dropped, std::vector<TrialId>{0});
  EXPECT_LT(study.clock.now, 30);
  EXPECT_EQ(study.trial(0).state, TrialState::kPruned);
}

TEST(BudgetOfAStudy, AProposalThatDoesNotFitIsMadeAgainWithMore) {
  FakeStudy study;
  study.budget = "45flops";  // one trial of 40
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().trials().size(), 1u);
  FakeStudy more(1, study.ledger);
  more.budget = "160flops";
  ASSERT_TRUE(more.run());
  FakeStudy whole;
  whole.budget = "160flops";
  ASSERT_TRUE(whole.run());
  EXPECT_EQ(more.outcomes(), whole.outcomes());
}

// Trials 1 and 2 are a hundred times as large as all others.
TEST(BudgetOfAStudy, AProposalThatIsTooLargeWaitsWhileSmallerOnesAreTrained) {
  const auto is_large = [](TrialId trial) { return trial == 1 || trial == 2; };
  FakeStudy study;
  study.epoch_work = [&](const Candidate&) {
    return is_large(study.driver->state().next_id()) ? 1000 : 10;
  };
  study.pool.seconds = [&](const message::Train& train, int) {
    return is_large(train.trial) ? 100 : 1;
  };
  study.budget = "30s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).state, TrialState::kWaiting);
  EXPECT_EQ(study.trial(2).state, TrialState::kWaiting);
  EXPECT_EQ(study.trial(3).state, TrialState::kComplete);
  EXPECT_GE(study.clock.now, 28);
  FakeStudy more(1, study.ledger);
  more.pool.seconds = study.pool.seconds;
  more.budget = "2000s";
  ASSERT_TRUE(more.run());
  EXPECT_EQ(more.trial(1).state, TrialState::kComplete);
}

TEST(BudgetOfAStudy, OfWhichLessThanAnEpochIsLeftRecordsNothingMoreOnResume) {
  FakeStudy study(2);
  study.budget = "10.5s";
  ASSERT_TRUE(study.run());
  FakeStudy again(2, study.ledger);
  again.budget = "10.5s";
  ASSERT_TRUE(again.run());
  EXPECT_EQ(again.driver->state().spent().wall_s, 10);
  EXPECT_TRUE(events_of<event::Requeued>(again.ledger).empty());
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

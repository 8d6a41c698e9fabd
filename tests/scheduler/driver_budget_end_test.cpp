// The end of a budget: what is still started, who is released, and when it is noticed.

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::FakeStudy;

// Trial 0 is foreseen to take as long as its first epoch did, 60 s, of which two workers would use
// up all that is left. Its second takes 20 s: what the other worker left is then for others.
TEST(BudgetOfAStudy, NoWorkerIsHeldIdleBesideALongEpoch) {
  FakeStudy study(2);
  study.epochs = 2;
  study.pool.seconds = [](const message::Train& train, int epoch) {
    if (train.trial == 0) return epoch == 1 ? 60 : 20;
    return 10;
  };
  study.budget = "190cpu-s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).epochs, 2);
  ASSERT_FALSE(study.pool.retired_at.empty());
  EXPECT_EQ(study.pool.retired_at.front(), 60);
  const double spent_s = study.driver->state().spent().device_s;
  EXPECT_LE(spent_s, 190);
  EXPECT_GE(spent_s, 190 - 1.05 * 10);
  double trained_s = 0;
  for (TrialId id = 0; id < study.driver->state().next_id(); ++id) {
    const int epochs = study.trial(id).epochs;
    trained_s += id == 0 ? 80 : 10 * epochs;
  }
  EXPECT_NEAR(trained_s, spent_s, 1);
}

// After 10 s two workers are ended, as of 85 s of device time 55 are left, and trial 0 was promised
// 53. With 98 s both are hired again, and one of them has time for a trial: the other is ended.
TEST(BudgetOfAStudy, WithMoreOfItReleasedWorkersAreHiredAgain) {
  FakeStudy study(3);
  study.epochs = 1;
  study.epoch_work = [&](const Candidate&) {
    return study.driver->state().next_id() == 0 ? 60 : 10;
  };
  study.pool.seconds = [](const message::Train& train, int) { return train.trial == 0 ? 60 : 10; };
  study.budget = "85cpu-s";
  study.pool.on_wait = [&] {
    if (study.clock.now >= 12 && study.driver->state().next_id() == 3)
      study.waiting_requests = {{.kind = RunRequest::kBudget, .budget = "98cpu-s"}};
  };
  ASSERT_TRUE(study.run());
  ASSERT_FALSE(study.pool.retired_at.empty());
  EXPECT_EQ(study.pool.retired_at.front(), 10);
  EXPECT_EQ(study.trial(3).state, TrialState::kComplete);
  EXPECT_EQ(study.driver->state().spent().device_s, 60 + 10 + 10 + 10);
}

// An epoch is foreseen to take 5 s, of which 15 were trained before: it may end at any time.
TEST(BudgetOfAStudy, ResumesASuspendedEpochForWhatIsLeftOfIt) {
  FakeStudy study;
  study.epochs = 4;
  study.pool.seconds = [](const message::Train&, int epoch) { return epoch == 2 ? 50 : 5; };
  study.budget = "20s";
  ASSERT_TRUE(study.run());
  FakeStudy more(1, study.ledger);
  more.pool.seconds = study.pool.seconds;
  more.pool.left_s() = study.pool.left_s();
  more.budget = "23s";
  ASSERT_TRUE(more.run());
  EXPECT_EQ(more.pool.started.size(), 1u);
  EXPECT_EQ(more.trial(0).unreported_s, 18);
}

// 0.63 and 9.37 flops, as numbers, are more than 10.
TEST(BudgetOfAStudy, InWorkEndsNoTrialByARounding) {
  FakeStudy study;
  study.epochs = 1;
  study.config.early_reports = {0.063};
  study.budget = "10flops";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).state, TrialState::kComplete);
}

// 42 s of device time are 10.5 s of four workers.
TEST(BudgetOfAStudy, InDeviceTimeEndsWhenAllWorkersTogetherHaveUsedIt) {
  FakeStudy study(4);
  study.pool.epoch_s = 100;
  study.budget = "42cpu-s";
  ASSERT_TRUE(study.run());
  ASSERT_FALSE(study.pool.suspended_at.empty());
  EXPECT_EQ(study.pool.suspended_at.front(), 10.5);
}

TEST(BudgetOfAStudy, FewProposalsInARowWaitForMoreOfIt) {
  FakeStudy study;
  const auto is_large = [&](TrialId trial) { return trial > 0; };
  study.epoch_work = [&](const Candidate&) {
    return is_large(study.driver->state().next_id()) ? 1000 : 10;
  };
  study.budget = "30s";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().in_state(TrialState::kWaiting).size(), 4u);
}

}  // namespace
}  // namespace detol

// What still has time before a limit of the budget is reached, and what that is decided by.

#include "scheduler/budget_guard.h"

#include "tests/scheduler/driver_objects.h"

namespace detol {
namespace {

using testing_support::DriverObjects;

using TimeUsed = DriverObjects;

TEST_F(TimeUsed, IsThatOfEarlierMastersAndOfThisOne) {
  apply(event::Accounted{.wall_s = 100, .device_s = 50});
  UsedTime used(parts(), state());
  used.replayed();
  study.clock.now = 10;
  used.begin();
  const double held_s = study.pool.held_s();
  study.clock.now = 17;
  used.read_devices();
  EXPECT_EQ(used.spent().wall_s, 107);
  EXPECT_EQ(used.spent().device_s, 50 + held_s + 7) << "of one worker";
  apply(event::Accounted{.wall_s = 107, .device_s = 57});
  EXPECT_EQ(used.spent().wall_s, 107) << "what this master has recorded counts once";
}

TEST_F(TimeUsed, OfDevicesIsAsOfTheLastLook) {
  UsedTime used(parts(), state());
  used.begin();
  used.read_devices();
  const double before_s = used.spent().device_s;
  study.clock.now = 5;
  EXPECT_EQ(used.spent().device_s, before_s);
  EXPECT_EQ(used.spent().wall_s, 5);
}

TEST_F(TimeUsed, BeginsWhereTheLedgerEnds) {
  parts().counted_until_s = 4;
  study.clock.now = 10;
  UsedTime used(parts(), state());
  used.begin();
  EXPECT_EQ(used.began_s(), 4);
  EXPECT_EQ(used.spent().wall_s, 6);
}

class NextEpochOf : public DriverObjects {
 protected:
  static Slot slot(const std::string& name, int ranks = 1) {
    return {.worker = 0, .name = name, .group_size = ranks};
  }
};

TEST_F(NextEpochOf, ATrialNeedsWhatItsNetworkSaysUntilItHasReported) {
  NextEpochs next(parts(), state());
  begin(0);
  EXPECT_EQ(next.of(0).work, 0) << "unknown";
  next.add(0, 30);
  EXPECT_EQ(next.of(0).work, 30);
  apply(report(0, 1, 8, 1));
  apply(report(0, 2, 20, 1));
  EXPECT_EQ(next.of(0).work, 10) << "the mean of its epochs";
}

TEST_F(NextEpochOf, TheFirstOneEndsAtAnEarlyReport) {
  study.config.early_reports = {0.25, 0.5};
  NextEpochs next(parts(), state());
  begin(0);
  next.add(0, 40);
  EXPECT_EQ(next.of(0).work, 10);
  event::Reported early = report(0, 0, 10, 1);
  early.part = 0.25;
  apply(early);
  EXPECT_EQ(next.of(0).work, 10) << "from a quarter to a half";
  early.part = 0.5;
  early.work = 20;
  early.step = 2;
  apply(early);
  EXPECT_EQ(next.of(0).work, 20) << "from a half to the end";
  EXPECT_EQ(next.first_of(1, 40, slot("w")).work, 10);
}

TEST_F(NextEpochOf, ATrialIsWhereItWasTrainedLastOrOnAWorker) {
  NextEpochs next(parts(), state());
  ask(0);
  start(0, "there");
  EXPECT_EQ(next.of(0).worker, "there");
  EXPECT_EQ(next.of(0, slot("here", 4)).worker, "here");
  EXPECT_EQ(next.of(0, slot("here", 4)).group_size, 4);
}

TEST_F(NextEpochOf, TheSmallestNetworkIsTheLeastOfAll) {
  NextEpochs next(parts(), state());
  next.add(0, 30);
  next.add(1, 10);
  next.add(2, 20);
  EXPECT_EQ(next.smallest_of(3, slot("w")).work, 10);
}

TEST_F(NextEpochOf, ATrialTakesTheTimeOfItsLastWithAMargin) {
  NextEpochs next(parts(), state());
  begin(0);
  EXPECT_EQ(next.device_s(next.of(0)), std::nullopt) << "there is no report";
  EXPECT_TRUE(next.learn(report(0, 1, 10, 2)));
  apply(report(0, 1, 10, 2));
  EXPECT_FALSE(next.learn(report(0, 2, 20, 2))) << "the first report alone is new";
  EXPECT_NEAR(*next.device_s(next.of(0)), 2.1, 1e-9);
  NextEpoch suspended = next.of(0);
  suspended.done_s = 0.5;
  EXPECT_NEAR(*next.device_s(suspended), 1.6, 1e-9);
  suspended.done_s = 5;
  EXPECT_EQ(*next.device_s(suspended), 0);
}

TEST_F(NextEpochOf, AReportThatTookNoTimeTeachesNothing) {
  NextEpochs next(parts(), state());
  begin(0);
  EXPECT_FALSE(next.learn(report(0, 1, 10, 0)));
  EXPECT_FALSE(next.learn(report(7, 1, 10, 1))) << "there is no such trial";
  EXPECT_EQ(next.device_s(next.of(0)), std::nullopt);
}

class Guard : public DriverObjects {
 protected:
  // Makes the guard of a budget, whose run has begun.
  BudgetGuard& guard(const std::string& budget) {
    study.budget = budget;
    running_.emplace(parts(), state());
    guard_.emplace(parts(), state(), *running_);
    guard_->used().begin();
    return *guard_;
  }
  // Starts a trial whose epochs are so much work, and promises it the first.
  void train(TrialId trial, double epoch_work) {
    begin(trial);
    running_->begins(trial, static_cast<int>(trial));
    guard_->add(trial, epoch_work);
    guard_->promise(trial);
  }
  void learn(const event::Reported& reported) {
    guard_->learn(reported);
    apply(reported);
    running_->reported(reported.trial);
    guard_->promise(reported.trial);
  }
  const Slot slot_ = {.worker = 0, .name = "fake"};

 private:
  std::optional<RunningTrials> running_;
  std::optional<BudgetGuard> guard_;
};

TEST_F(Guard, CountsTheTrialsThatHaveStarted) {
  BudgetGuard& budget = guard("6trials");
  begin(0);
  begin(1);
  ask(2);
  EXPECT_EQ(budget.trials_left(), 4);
  budget.replace(parse_budget("1trials").value());
  EXPECT_EQ(budget.trials_left(), 0);
  budget.replace(parse_budget("1h").value());
  EXPECT_GT(budget.trials_left(), 1'000'000);
}

TEST_F(Guard, IsUsedUpByALimitOfTimeOrWorkAlone) {
  BudgetGuard& budget = guard("1trials,10s");
  begin(0);
  begin(1);
  EXPECT_FALSE(budget.is_used_up());
  EXPECT_FALSE(budget.counts_device_time());
  study.clock.now = 10;
  EXPECT_TRUE(budget.is_used_up());
  budget.replace(parse_budget("10cpu-min").value());
  EXPECT_TRUE(budget.counts_device_time());
  EXPECT_FALSE(budget.counts_work());
}

TEST_F(Guard, HasNoTimeForWorkThatOthersWerePromised) {
  BudgetGuard& budget = guard("25flops");
  train(0, 10);
  EXPECT_TRUE(budget.has_time_for_first(1, 10, slot_)) << "20 of 25";
  EXPECT_FALSE(budget.has_time_for_first(2, 16, slot_)) << "26 of 25";
  EXPECT_TRUE(budget.has_time_for_first(2, 15, slot_)) << "just as much as there is";
  train(1, 10);
  EXPECT_FALSE(budget.has_time_for_first(2, 10, slot_));
  EXPECT_TRUE(budget.has_time_for(1)) << "its own promise is not another's";
  budget.withdraw(0);
  EXPECT_TRUE(budget.has_time_for_first(2, 10, slot_));
}

TEST_F(Guard, HasTimeAsLongAsTheEpochEndsBeforeTheLimit) {
  BudgetGuard& budget = guard("10s");
  train(0, 10);
  EXPECT_TRUE(budget.has_time_for(0)) << "nothing is known of how long it takes";
  learn(report(0, 1, 10, 2));
  study.clock.now = 7.8;
  EXPECT_TRUE(budget.has_time_for(0));
  study.clock.now = 8;
  EXPECT_FALSE(budget.has_time_for(0)) << "2.1 s with the margin";
}

TEST_F(Guard, HasDeviceTimeBesideWhatOthersStillNeed) {
  study.pool.epoch_s = 1;
  BudgetGuard& budget = guard("10cpu-s");
  train(0, 10);
  learn(report(0, 1, 10, 4));
  train(1, 10);
  EXPECT_TRUE(budget.has_time_for_first(2, 3, slot_)) << "8.4 are promised, 1.26 needed";
  EXPECT_FALSE(budget.has_time_for_first(2, 5, slot_)) << "2.1";
}

TEST_F(Guard, GivesUpAfterFourProposalsInARowWithoutTime) {
  BudgetGuard& budget = guard("1h");
  for (int i = 0; i < 4; ++i) budget.lacks_time();
  EXPECT_TRUE(budget.may_fit(0, slot_));
  budget.lacks_time();
  EXPECT_FALSE(budget.may_fit(0, slot_));
  budget.had_time();
  EXPECT_TRUE(budget.may_fit(0, slot_));
  for (int i = 0; i < 5; ++i) budget.lacks_time();
  budget.replace(parse_budget("2h").value());
  EXPECT_TRUE(budget.may_fit(0, slot_)) << "there is more of it now";
}

TEST_F(Guard, LetsNobodyWaitBeyondTheEnd) {
  BudgetGuard& budget = guard("10s");
  EXPECT_EQ(budget.longest_wait_s(std::nullopt), 1) << "nothing runs";
  EXPECT_EQ(budget.longest_wait_s(0.25), 0.25);
  train(0, 10);
  study.clock.now = 9.5;
  EXPECT_EQ(budget.longest_wait_s(std::nullopt), 0.5);
  study.clock.now = 12;
  EXPECT_EQ(budget.longest_wait_s(std::nullopt), 1e-3) << "an instant, so that the rest is heard";
}

TEST_F(Guard, RemindsOfTheSuspensionEverySecondUntilItGivesUp) {
  BudgetGuard& budget = guard("10s");
  EXPECT_FALSE(budget.has_suspended());
  for (double now_s = 10; now_s < 18; now_s += 0.5) {
    study.clock.now = now_s;
    EXPECT_FALSE(budget.suspend()) << now_s;
  }
  EXPECT_EQ(study.pool.suspended_at, (std::vector<double>{10, 11, 12, 13, 14, 15, 16, 17}));
  study.clock.now = 18;
  EXPECT_TRUE(budget.suspend());
  EXPECT_TRUE(budget.has_suspended());
}

}  // namespace
}  // namespace detol

// Stopping a run: what the workers are told, how long it takes, and that nothing is lost.

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::stop_if;

TEST(Stop, SuspendsEveryTrialInMidEpochAtOnce) {
  FakeStudy study(3);
  study.pool.epoch_s = 1000;
  study.pool.stop_at = 2;
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
  EXPECT_LE(study.clock.now, 3);
  for (const auto& requeued : events_of<event::Requeued>(study.ledger))
    EXPECT_EQ(requeued.reason.cause, RequeueCause::kStopped);
  EXPECT_EQ(study.driver->state().in_state(TrialState::kWaiting).size(), 3u);
  EXPECT_EQ(events_of<event::StudyState>(study.ledger).back().state, StudyPhase::kStopped);
}

TEST(Stop, IsResumableOnAFullDisk) {
  FakeStudy study;
  study.pool.epoch_s = 1;
  study.pool.stop_at = 3;
  study.pool.on_answer = [&](const message::ReportAck&) { study.ledger.full = 1000; };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted) << ended.error().message;
  EXPECT_NE(ended.error().message.find("the last events cannot be written"), std::string::npos);
  FakeStudy resumed(1, study.ledger);
  resumed.ledger.full = 0;
  ASSERT_TRUE(resumed.run());
  FakeStudy whole;
  ASSERT_TRUE(whole.run());
  EXPECT_EQ(resumed.outcomes(), whole.outcomes());
}

TEST(Stop, LosesNoSecondOfTraining) {
  FakeStudy whole;
  whole.pool.epoch_s = 10;
  ASSERT_TRUE(whole.run());
  MemoryLedger ledger;
  std::map<TrialId, double> suspended;
  double trained_s = 0;
  for (int runs = 1;; ++runs) {
    FakeStudy study(1, ledger);
    study.pool.epoch_s = 10;
    study.pool.left_s() = suspended;
    study.pool.stop_at = 17;  // in mid-epoch
    const bool is_done = study.run().has_value();
    trained_s += study.clock.now;
    ledger = study.ledger;
    suspended = study.pool.left_s();
    if (!is_done) continue;
    EXPECT_GT(runs, 5);
    EXPECT_EQ(study.outcomes(), whole.outcomes());
    break;
  }
  EXPECT_NEAR(trained_s, whole.clock.now, 1e-6);
}

TEST(Stop, AsksAgainEverySecondForWhoeverDidNotHear) {
  FakeStudy study;
  study.pool.epoch_s = 1000;
  study.pool.hears_suspend = false;
  study.pool.stop_at = 0;
  ASSERT_FALSE(study.run());
  EXPECT_GE(study.pool.suspended_at.size(), 8u);
  for (std::size_t i = 1; i < study.pool.suspended_at.size(); ++i)
    EXPECT_LE(study.pool.suspended_at[i] - study.pool.suspended_at[i - 1], 2);
}

TEST(Stop, WaitsTenSecondsAtMostForThoseWhoDoNotAnswer) {
  FakeStudy study;
  study.pool.epoch_s = 1000;
  study.pool.hears_suspend = false;
  study.pool.stop_at = 0;
  ASSERT_FALSE(study.run());
  EXPECT_LE(study.clock.now, 10);
  EXPECT_EQ(study.trial(0).state, TrialState::kWaiting);
}

TEST(Stop, AnEpochThatEndsFirstIsReportedAndSuspendsItsTrial) {
  FakeStudy study(2);
  study.pool.hears_suspend = false;
  study.pool.stop_at = 3;
  ASSERT_FALSE(study.run());
  EXPECT_EQ(study.driver->state().running(), 0);
  EXPECT_EQ(study.pool.answers.back().verdict, Verdict::kSuspend);
  EXPECT_LE(study.pool.answers.size(), 5u);
  FakeStudy again(2, study.ledger);
  ASSERT_TRUE(again.run());
  EXPECT_EQ(again.driver->state().in_state(TrialState::kComplete).size(), 6u);
}

TEST(Stop, IsNoLossThatCountsAgainstATrial) {
  MemoryLedger ledger;
  for (int i = 0; i < 30; ++i) {
    FakeStudy study(1, ledger);
    study.pool.epoch_s = 1000;
    study.pool.stop_at = 1;
    ASSERT_FALSE(study.run());
    EXPECT_EQ(study.trial(0).losses, 0);
    EXPECT_EQ(study.trial(0).state, TrialState::kWaiting);
    ledger = study.ledger;
  }
}

TEST(Stop, MayBeAskedForByOtherMeansThanASignal) {
  FakeStudy study;
  study.pool.epoch_s = 1000;
  study.requests = [&] { return stop_if(study.clock.now > 20); };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
  EXPECT_LE(study.clock.now, 23);
}

}  // namespace
}  // namespace detol

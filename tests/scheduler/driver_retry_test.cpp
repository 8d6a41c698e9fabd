// Tests what becomes of a trial whose worker was lost, by the cause of the loss.

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::Mishap;

TEST(Retry, ALostTrialGoesOnFromItsLastAcknowledgedEpoch) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    return train.trial == 2 && train.attempt == 1 && epoch == 3 ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.started[3].trial, 2u);
  EXPECT_EQ(study.pool.started[3].attempt, 2);
  EXPECT_EQ(study.pool.started[3].acknowledged, 2);
  EXPECT_EQ(study.pool.started[3].seed, study.pool.started[2].seed);
  EXPECT_EQ(study.trial(2).state, TrialState::kComplete);
}

TEST(Retry, ATrialThatCrashesThreeTimesInARowFails) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    return train.trial == 1 && epoch == 2 ? Mishap::kCrash : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).failure, Cause::kCrashed);
  EXPECT_EQ(study.trial(1).attempt, 4);  // the first ended an epoch, which clears its crash
  EXPECT_EQ(study.trial(1).epochs, 1);
}

TEST(Retry, KillsFromOutsideDoNotCountAgainstATrial) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.attempt < 10 ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  for (const TrialRecord& t : study.driver->state().trials())
    EXPECT_EQ(t.state, TrialState::kComplete);
}

TEST(Retry, TenKillsInARowWithoutANewEpochFailATrial) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    return train.trial == 1 && epoch == 2 ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).failure, Cause::kCrashed);
  EXPECT_EQ(study.trial(1).attempt, 11);  // the first ended an epoch
  EXPECT_NE(study.trial(1).reason.detail.find("SIGKILL"), std::string::npos);
  EXPECT_NE(study.trial(1).reason.detail.find("memory"), std::string::npos);
  EXPECT_EQ(study.trial(2).state, TrialState::kComplete);
}

TEST(Retry, KillsWithAnEpochInBetweenAreFree) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    const bool is_new = epoch == static_cast<int>(train.acknowledged) + 2;
    return train.trial == 1 && is_new ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).state, TrialState::kComplete);
  EXPECT_GT(study.trial(1).attempt, 1);
}

TEST(Retry, ADivergedTrialIsAResultAndIsNotRetried) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 ? Mishap::kDiverge : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).failure, Cause::kDiverged);
  EXPECT_EQ(study.trial(1).attempt, 1);
}

TEST(Retry, RetryFailedGivesCrashedTrialsAnotherChance) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 ? Mishap::kBroken : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  ASSERT_EQ(study.trial(1).failure, Cause::kCrashed);
  FakeStudy again(1, study.ledger);
  again.retry_failed = true;
  ASSERT_TRUE(again.run());
  EXPECT_EQ(again.trial(1).state, TrialState::kComplete);
}

TEST(Retry, ADiskThatIsFullForHoursCostsNoTrialAnAttempt) {
  const double hour_s = 3600;
  FakeStudy study;
  study.pool.mishap = [&](const message::Train&, int) {
    return study.clock.now < 2 * hour_s ? Mishap::kFullDisk : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  for (const TrialRecord& trial : study.driver->state().trials())
    EXPECT_EQ(trial.state, TrialState::kComplete) << "trial " << trial.trial.id;
  EXPECT_LT(study.pool.started.size(), 200u);  // it waits between attempts
}

TEST(Retry, AnOomKillIsTriedOnceMoreInSmallerPieces) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    return train.trial == 1 && train.attempt == 1 && epoch == 2 ? Mishap::kOomKilled
                                                                : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).state, TrialState::kComplete);
  const auto started = events_of<event::Started>(study.ledger);
  for (std::size_t i = 0; i < started.size(); ++i) {
    const int expected = started[i].trial == 1 && started[i].attempt == 2 ? 2 : 1;
    EXPECT_EQ(started[i].micro_batches, expected) << "trial " << started[i].trial;
    EXPECT_EQ(study.pool.started[i].micro_batches, expected);
  }
}

TEST(Retry, ASecondOomKillIsTheCandidatesFault) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    return train.trial == 1 && epoch == train.attempt ? Mishap::kOomKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).failure, Cause::kOutOfMemory);
  EXPECT_EQ(study.trial(1).attempt, 2);
  EXPECT_EQ(study.trial(1).epochs, 1);  // which does not clear the OOM kill
}

TEST(Retry, LaterAttemptsKeepTheMicroBatchesAlsoAfterAResume) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    if (train.trial != 1) return Mishap::kNone;
    if (train.micro_batches == 1) return Mishap::kOomKilled;
    return train.acknowledged == 0 && epoch == 3 ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  for (const message::Train& train : study.pool.started)
    EXPECT_EQ(train.micro_batches, train.trial == 1 && train.attempt > 1 ? 2 : 1);
  for (std::size_t kept = 0; kept < study.ledger.transactions.size(); ++kept) {
    MemoryLedger prefix;
    prefix.transactions.assign(study.ledger.transactions.begin(),
                               study.ledger.transactions.begin() + static_cast<long>(kept));
    FakeStudy resumed(1, prefix);
    resumed.pool.mishap = study.pool.mishap;
    ASSERT_TRUE(resumed.run());
    EXPECT_EQ(resumed.outcomes(), study.outcomes());
    EXPECT_EQ(resumed.trial(1).micro_batches, 2) << "killed after transaction " << kept;
  }
}

TEST(Retry, MemoryThatTheTrainerMissesIsAResultAtOnce) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 ? Mishap::kNoMemory : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).failure, Cause::kOutOfMemory);
  EXPECT_EQ(study.trial(1).attempt, 1);
}

TEST(Retry, KillsBetweenCrashesDoNotClearThem) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    if (train.trial != 1) return Mishap::kNone;
    return train.attempt % 2 == 0 ? Mishap::kKilled : Mishap::kCrash;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).failure, Cause::kCrashed);
  EXPECT_EQ(study.trial(1).attempt, 5);  // crash, kill, crash, kill, crash
}

TEST(Retry, ANewEpochClearsTheCrashesBeforeIt) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int epoch) {
    const bool crashes =
        train.trial == 1 && train.attempt % 3 != 0 && epoch == train.acknowledged + 1;
    const bool is_cut =
        train.trial == 1 && train.attempt % 3 == 0 && epoch == train.acknowledged + 2;
    return crashes || is_cut ? Mishap::kCrash : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).state, TrialState::kComplete);
}

TEST(Retry, ATrialThatIsAlwaysLostFailsInTheEnd) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 ? Mishap::kCutOff : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).failure, Cause::kCrashed);
  EXPECT_EQ(study.trial(1).attempt, 20);
}

TEST(Retry, TheFirstIsAtOnceAndTheNextWaitLongerAndLonger) {
  FakeStudy study;
  std::vector<double> lost_s;
  study.pool.mishap = [&](const message::Train& train, int epoch) {
    if (train.trial != 1 || epoch > 1 || train.attempt > 8) return Mishap::kNone;
    lost_s.push_back(study.clock.now);
    return Mishap::kKilled;
  };
  ASSERT_TRUE(study.run());
  ASSERT_EQ(lost_s.size(), 8u);
  const double epoch_s = study.pool.epoch_s;
  EXPECT_EQ(lost_s[1] - lost_s[0], epoch_s);
  for (std::size_t i = 2; i < lost_s.size(); ++i) {
    const double wait_s = lost_s[i] - lost_s[i - 1] - epoch_s;
    EXPECT_GE(wait_s, std::min(8.0, double(1 << (i - 2)))) << "attempt " << i + 1;
    EXPECT_LE(wait_s, 9) << "attempt " << i + 1;
  }
}

TEST(Retry, NobodyOvertakesATrialThatWaitsForItsNextAttempt) {
  FakeStudy plain, lossy;
  lossy.pool.mishap = [](const message::Train& train, int) {
    return train.trial % 2 == 0 && train.attempt < 6 ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(plain.run());
  ASSERT_TRUE(lossy.run());
  EXPECT_EQ(lossy.outcomes(), plain.outcomes());
}

}  // namespace
}  // namespace detol

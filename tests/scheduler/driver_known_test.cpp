// What is known, or will be soon, is not trained again.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "scheduler/driver.h"
#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::Mishap;

// Eleven candidates, of which eight workers draw at random.
void draw_from_few(FakeStudy& study) {
  study.step = 0.1;
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 0.1}).build().value();
  study.config.algorithm.name = "random";
  study.budget = "1000trials";
}

// Returns how often each candidate was started as a first attempt.
std::map<double, int> starts_of(const FakeStudy& study) {
  std::map<double, int> starts;
  for (const message::Train& train : study.pool.started)
    starts[std::get<double>(train.params.front().second)] += train.attempt == 1 ? 1 : 0;
  return starts;
}

void expect_each_trained_once(const FakeStudy& study, std::size_t candidates) {
  const std::map<double, int> starts = starts_of(study);
  EXPECT_EQ(starts.size(), candidates);
  for (const auto& [x, count] : starts) EXPECT_EQ(count, 1) << x;
}

TEST(DriverKnown, TrainsNoCandidateThatRunsAlreadyAndEndsWhenTheSpaceIsExhausted) {
  FakeStudy study(8);
  draw_from_few(study);
  const auto ended = study.run();
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, "nothing is left to try: all candidates of the space (11) are known");
  expect_each_trained_once(study, 11);
  EXPECT_LT(study.driver->state().trials().size(), 1000u);
}

TEST(DriverKnown, AnswersAProposalThatWaitedFromTheTrialThatRan) {
  FakeStudy study(8);
  draw_from_few(study);
  ASSERT_TRUE(study.run());
  int waited = 0;
  for (const TrialRecord& trial : study.driver->state().trials()) {
    ASSERT_TRUE(trial.is_over());
    if (trial.attempt > 0) continue;
    ASSERT_EQ(trial.reason.cause, EndCause::kSameTrial);
    const TrialRecord& trained = study.trial(trial.reason.same_as);
    EXPECT_EQ(trained.identity, trial.identity);
    EXPECT_EQ(std::get<Measured>(*trained.outcome).values,
              std::get<Measured>(*trial.outcome).values);
    ++waited;
  }
  EXPECT_GT(waited, 0);
}

TEST(DriverKnown, AKilledStudyStillTrainsEachCandidateOnce) {
  FakeStudy whole(8);
  draw_from_few(whole);
  ASSERT_TRUE(whole.run());
  for (std::size_t kept = 0; kept < whole.ledger.transactions.size(); kept += 3) {
    MemoryLedger prefix;
    prefix.transactions.assign(whole.ledger.transactions.begin(),
                               whole.ledger.transactions.begin() + static_cast<long>(kept));
    FakeStudy resumed(8, prefix);
    draw_from_few(resumed);
    ASSERT_TRUE(resumed.run());
    std::map<double, int> trained;
    for (const TrialRecord& trial : resumed.driver->state().trials()) {
      EXPECT_EQ(trial.state, TrialState::kComplete);
      trained[trial.trial.genome.number("x")] += trial.attempt > 0 ? 1 : 0;
    }
    EXPECT_EQ(trained.size(), 11u);
    for (const auto& [x, count] : trained) EXPECT_EQ(count, 1) << x << ", killed after " << kept;
  }
}

TEST(DriverKnown, AProposalWhoseEqualIsLostForGoodStartsItself) {
  FakeStudy study(2);
  study.config.space = SpaceBuilder().add_categorical("x", {"a"}).build().value();
  study.config.algorithm.name = "random";
  study.pool.loss = [](const message::Train&, int epoch) { return 1.0 / epoch; };
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 0 ? Mishap::kCrash : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).failure, Cause::kCrashed);
  EXPECT_EQ(study.trial(1).state, TrialState::kComplete);
  EXPECT_EQ(study.trial(1).attempt, 1);
  for (TrialId id = 2; id < study.driver->state().next_id(); ++id)
    EXPECT_EQ(study.trial(id).attempt, 0) << id;
}

TEST(DriverKnown, APausedTrialIsPromotedAlthoughAnEqualWaits) {
  FakeStudy study(4);
  draw_from_few(study);
  study.config.pruner.name = "asha";
  study.epochs = 9;
  ASSERT_TRUE(study.run());
  expect_each_trained_once(study, 11);
  EXPECT_FALSE(study.driver->state().in_state(TrialState::kComplete).empty());
}

TEST(DriverKnown, AsksNoLongerThanItGetsWhatIsNotRunning) {
  FakeStudy study(64);
  draw_from_few(study);
  study.budget = "4trials";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.started.size(), 4u);
  EXPECT_LT(study.driver->state().trials().size(), 50u);
}

TEST(DriverKnown, AnExhaustedStudyEndsAtOnceWhenItIsResumed) {
  FakeStudy study(2);
  draw_from_few(study);
  ASSERT_TRUE(study.run());
  FakeStudy resumed(2, study.ledger);
  draw_from_few(resumed);
  const auto ended = resumed.run();
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, "nothing is left to try: all candidates of the space (11) are known");
  EXPECT_TRUE(resumed.pool.started.empty());
}

}  // namespace
}  // namespace detol

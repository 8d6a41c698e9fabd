// What people may ask of a running study, and that a kill at any instant loses no request.

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::Mishap;

// Puts the request before the driver once the study is so old.
void ask_at(FakeStudy& study, double at_s, RunRequest request) {
  study.pool.on_wait = [&study, at_s, request, is_asked = false]() mutable {
    if (!is_asked && study.clock.now >= at_s) study.waiting_requests.push_back(request);
    is_asked = study.clock.now >= at_s;
  };
}

TEST(RequestedPrune, EndsATrialAfterItsNextReportAndKeepsItsValue) {
  FakeStudy study;
  study.epochs = 100;
  study.budget = "2trials";
  ask_at(study, 20, {RunRequest::kPrune, 0});
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).state, TrialState::kPruned);
  EXPECT_EQ(study.trial(0).reason.cause, EndCause::kRequest);
  EXPECT_GE(study.trial(0).epochs, 20);
  EXPECT_LE(study.trial(0).epochs, 22);
  EXPECT_FALSE(study.trial(0).values.empty());
  EXPECT_TRUE(study.pool.dropped.empty()) << "its worker goes on";
  EXPECT_EQ(study.trial(1).state, TrialState::kComplete) << "the search goes on";
  EXPECT_TRUE(study.waiting_requests.empty());
}

TEST(RequestedPrune, EndsATrialThatIsLongSilent) {
  FakeStudy study;
  study.pool.epoch_s = 100;
  study.budget = "2trials";
  ask_at(study, 130, {RunRequest::kPrune, 0});
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).reason.cause, EndCause::kRequest);
  EXPECT_EQ(study.trial(0).epochs, 1);
  EXPECT_EQ(study.pool.dropped, std::vector<TrialId>{0});
  EXPECT_EQ(study.trial(1).epochs, 4);
}

TEST(RequestedPrune, WaitsForTheFirstReport) {
  FakeStudy study;
  study.pool.epoch_s = 50;
  study.budget = "2trials";
  ask_at(study, 5, {RunRequest::kPrune, 0});
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).state, TrialState::kPruned);
  EXPECT_EQ(study.trial(0).epochs, 1);
  EXPECT_TRUE(study.pool.dropped.empty());
}

TEST(RequestedPrune, ChangesNothingWhereTheTrialIsOverOrUnknown) {
  FakeStudy whole;
  ASSERT_TRUE(whole.run());
  for (const TrialId trial : {TrialId(0), TrialId(77)}) {
    FakeStudy study;
    ask_at(study, 9, {RunRequest::kPrune, trial});
    ASSERT_TRUE(study.run());
    EXPECT_EQ(study.outcomes(), whole.outcomes());
    EXPECT_TRUE(study.waiting_requests.empty());
  }
}

TEST(RequestedPrune, IsNoPauseThatThePrunerEnds) {
  FakeStudy study;
  study.config.pruner.name = "asha";
  study.epochs = 9;
  study.budget = "12trials";
  study.pool.epoch_s = 2;
  ask_at(study, 3, {RunRequest::kPrune, 0});
  ASSERT_TRUE(study.run());
  for (const auto& requeued : events_of<event::Requeued>(study.ledger))
    EXPECT_NE(requeued.trial, 0u);
}

TEST(RequestedRetry, TrainsAFailedTrialAgain) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 && train.attempt <= 3 ? Mishap::kCrash : Mishap::kNone;
  };
  study.epochs = 20;
  ask_at(study, 60, {RunRequest::kRetry, 1});
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).state, TrialState::kComplete);
  EXPECT_EQ(events_of<event::Requeued>(study.ledger).back().reason.cause, RequeueCause::kRetried);
}

TEST(RequestedRetry, LeavesAloneWhatDivergedOrDidNotFail) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 ? Mishap::kDiverge : Mishap::kNone;
  };
  study.pool.on_wait = [&] {
    if (study.waiting_requests.empty() && study.clock.now > 8 && study.clock.now < 12)
      study.waiting_requests = {
          {RunRequest::kRetry, 0}, {RunRequest::kRetry, 1}, {RunRequest::kRetry, 99}};
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(1).attempt, 1);
  EXPECT_TRUE(events_of<event::Requeued>(study.ledger).empty());
  EXPECT_TRUE(study.waiting_requests.empty());
}

TEST(RequestedBudget, LetsTheSearchGoOnAsIfItHadBeenSoFromTheBeginning) {
  FakeStudy whole;
  whole.budget = "9trials";
  ASSERT_TRUE(whole.run());
  FakeStudy study;
  study.budget = "3trials";
  ask_at(study, 5, {RunRequest::kBudget, 0, "9trials"});
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.outcomes(), whole.outcomes());
  EXPECT_EQ(events_of<event::StudyState>(study.ledger).back().budget, "9trials");
}

TEST(RequestedBudget, ContinuesATrialForWhichThereWasNoTime) {
  FakeStudy study(2);
  study.pool.seconds = [](const message::Train& train, int) { return train.trial == 0 ? 30 : 2; };
  study.budget = "50s";
  ask_at(study, 40, {RunRequest::kBudget, 0, "150s"});
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).state, TrialState::kComplete) << study.outcomes();
}

TEST(RequestedBudget, ThatIsNoneIsAnsweredAndIgnored) {
  FakeStudy study;
  ask_at(study, 5, {RunRequest::kBudget, 0, "many"});
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().trials().size(), 6u);
  EXPECT_TRUE(study.waiting_requests.empty());
}

TEST(Requests, AreAnsweredOnceWhatFollowsIsDurable) {
  FakeStudy study;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 && train.attempt <= 3 ? Mishap::kCrash : Mishap::kNone;
  };
  study.epochs = 20;
  ask_at(study, 60, {RunRequest::kRetry, 1});
  int retried = 0;
  study.ledger.on_append = [&] {
    for (const Event& event : study.ledger.transactions.back()) {
      const auto* requeued = std::get_if<event::Requeued>(&event);
      if (requeued == nullptr || requeued->reason.cause != RequeueCause::kRetried) continue;
      ++retried;
      EXPECT_EQ(study.waiting_requests.size(), 1u);
    }
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(retried, 1);
  EXPECT_TRUE(study.waiting_requests.empty());
}

// A master dies after each of its transactions; the next one finds the ledger and the requests.
TEST(Requests, SurviveAKillAfterAnyTransaction) {
  const std::vector<RunRequest> asked = {{RunRequest::kPrune, 0},
                                         {RunRequest::kBudget, 0, "5trials"}};
  const auto prepare = [](FakeStudy& study) {
    study.budget = "3trials";
    study.epochs = 6;
  };
  FakeStudy whole;
  prepare(whole);
  whole.waiting_requests = asked;
  ASSERT_TRUE(whole.run());
  for (std::size_t kept = 1; kept < whole.ledger.transactions.size(); ++kept) {
    MemoryLedger ledger;
    ledger.transactions.assign(whole.ledger.transactions.begin(),
                               whole.ledger.transactions.begin() + static_cast<long>(kept));
    FakeStudy study(1, ledger);
    prepare(study);
    study.waiting_requests = asked;  // the worst case: what was done had not been answered
    ASSERT_TRUE(study.run());
    EXPECT_EQ(study.trial(0).state, TrialState::kPruned) << kept;
    EXPECT_EQ(study.driver->state().trials().size(), 5u) << kept;
  }
}

}  // namespace
}  // namespace detol

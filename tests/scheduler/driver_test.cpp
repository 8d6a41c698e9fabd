#include "scheduler/driver.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::Mishap;

TEST(Driver, TrainsTheBudgetOfTrialsToTheirLastEpoch) {
  for (int workers : {1, 3, 10}) {
    FakeStudy study(workers);
    ASSERT_TRUE(study.run());
    ASSERT_EQ(study.driver->state().trials().size(), 6u);
    for (const TrialRecord& t : study.driver->state().trials()) {
      EXPECT_EQ(t.state, TrialState::kComplete);
      EXPECT_EQ(t.epochs, 4);
    }
    EXPECT_EQ(events_of<event::StudyState>(study.ledger).back().state, StudyPhase::kDone);
  }
}

TEST(Driver, CommitsAReportBeforeAcknowledgingIt) {
  FakeStudy study(3);
  study.pool.on_answer = [&](const message::ReportAck& answer) {
    const auto reports = events_of<event::Reported>(study.ledger);
    EXPECT_TRUE(std::ranges::any_of(reports, [&](const event::Reported& r) {
      return r.trial == answer.trial && r.epochs() == answer.epochs;
    }));
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.answers.size(), 24u);
}

TEST(Driver, GivesEveryTrialASeedOfItsOwn) {
  FakeStudy study;
  ASSERT_TRUE(study.run());
  std::set<std::uint64_t> seeds;
  for (const auto& train : study.pool.started) seeds.insert(train.seed);
  EXPECT_EQ(seeds.size(), 6u);
}

TEST(Driver, StopsATrialWhenThePrunerSaysSo) {
  FakeStudy study(2);
  study.config.pruner.name = "asha";
  study.budget = "20trials";
  ASSERT_TRUE(study.run());
  EXPECT_FALSE(study.driver->state().in_state(TrialState::kPruned).empty());
  for (TrialId id : study.driver->state().in_state(TrialState::kPruned)) {
    EXPECT_LT(study.trial(id).epochs, 4);
    EXPECT_EQ(to_text(study.trial(id).reason), "asha");
    EXPECT_TRUE(std::get<Measured>(*study.trial(id).outcome).stopped_early);
  }
}

TEST(Driver, RefusesWithoutTrainingAndWithoutCost) {
  FakeStudy study;
  study.refuses = [](double x) { return x > 0.5; };
  study.config.algorithm.name = "random";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().in_state(TrialState::kComplete).size(), 6u);
  const auto refused = study.driver->state().in_state(TrialState::kFail);
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(study.trial(refused.front()).failure, Cause::kTooLarge);
  EXPECT_EQ(study.trial(refused.front()).attempt, 0);
}

TEST(Driver, EndsAfterAThousandRefusalsInARow) {
  FakeStudy study;
  study.refuses = [](double) { return true; };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kFailures);
  EXPECT_EQ(study.driver->state().trials().size(), 1000u);
}

TEST(Driver, AnswersAKnownCandidateFromMemory) {
  FakeStudy study;
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 0.125}).build().value();
  study.config.algorithm.name = "random";
  const auto ended = study.run();
  ASSERT_TRUE(ended);
  EXPECT_EQ(study.pool.started.size(), 6u);
  int known = 0;
  for (const TrialRecord& trial : study.driver->state().trials()) {
    EXPECT_EQ(trial.state, TrialState::kComplete);
    known += trial.reason.cause == EndCause::kSameTrial ? 1 : 0;
  }
  EXPECT_GT(known, 0);
}

TEST(Driver, AnswersATwinOfAKnownNetworkFromMemory) {
  FakeStudy study;
  study.config.space =
      SpaceBuilder().add_float("architecture.x", 0, 1).add_float("x", 0.5, 0.5).build().value();
  study.arch_hash = [](const Genome& genome) {
    return genome.number("architecture.x") < 0.5 ? std::uint64_t{1} : std::uint64_t{2};
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.started.size(), 2u);
  EXPECT_EQ(study.driver->state().trials().back().reason.cause, EndCause::kSameTrial);
}

TEST(Driver, StoresANetworkWithItsFirstTrialAlsoAfterAFullDisk) {
  FakeStudy study;
  study.ledger.full = 2;
  study.arch_hash = [](const Genome&) { return std::uint64_t{1}; };
  study.network_fact = [described = false](const Candidate& candidate) mutable {
    const Fact fact{kNetworkFact, std::to_string(candidate.arch_hash), "{}"};
    return std::exchange(described, true) ? std::nullopt : std::optional(fact);
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.ledger.known, (std::vector{Fact{kNetworkFact, "1", "{}"}}));
}

// Trials below a half are known to another study, with two epochs and a loss of 0.25.
void know_half(FakeStudy& study) {
  study.identify = [](const Candidate&) { return "00000000000000ab"; };
  study.recall = [](const event::Asked& asked,
                    const Candidate&) -> Result<std::optional<KnownTrial>> {
    EXPECT_EQ(asked.identity, "00000000000000ab");
    if (std::get<double>(asked.params.front().second) >= 0.5) return std::nullopt;
    KnownTrial known{.study = "other", .trial = 17, .reports = {}, .told = {}};
    for (int epoch = 1; epoch <= 2; ++epoch) {
      known.reports.push_back({.trial = 17,
                               .attempt = 3,
                               .epoch = epoch,
                               .metrics = {{"loss", 0.5 / epoch}},
                               .work = 1e6,
                               .train_s = 100});
    }
    known.told.outcome = Measured{.values = {0.25}, .fidelity = 2, .work = 1e6};
    return known;
  };
}

TEST(Driver, TakesOverWhatAnotherStudyTrained) {
  FakeStudy study;
  study.config.algorithm.name = "random";
  know_half(study);
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.started.size(), 6u);  // known ones do not count against the budget
  int known = 0;
  for (const TrialRecord& trial : study.driver->state().trials()) {
    if (trial.trial.genome.number("x") >= 0.5) continue;
    ++known;
    EXPECT_EQ(to_text(trial.reason), "same as trial 17 of study other");
    EXPECT_EQ(trial.epochs, 2);
    EXPECT_EQ(trial.values, std::vector<double>{0.25});
    EXPECT_EQ(trial.train_s, 0);
  }
  EXPECT_GT(known, 0);
  EXPECT_LT(study.driver->state().spent().work, 1e6);
}

// Nothing is trained, and there is a best trial all the same.
TEST(Driver, AStudyWhoseCandidatesAreAllKnownEndsWell) {
  FakeStudy study;
  study.config.space = SpaceBuilder().add_float("x", 0, 0.375, {.step = 0.125}).build().value();
  study.config.algorithm.name = "random";
  know_half(study);
  const auto ended = study.run();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_NE(ended->find("answered from study other (4 trials)"), std::string::npos) << *ended;
  EXPECT_TRUE(study.pool.started.empty());
  EXPECT_NE(study.driver->state().best(), nullptr);
}

TEST(Driver, MeasuresWhatAnotherStudyTrainedIfRepeatsAreAskedFor) {
  FakeStudy study;
  know_half(study);
  study.config.repeats = 1;
  ASSERT_TRUE(study.run());
  for (const TrialRecord& trial : study.driver->state().trials())
    EXPECT_NE(trial.reason.detail, "other");
}

TEST(Driver, TrainsAKnownCandidateAgainIfRepeatsAreAskedFor) {
  FakeStudy study;
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 0.5}).build().value();
  study.config.repeats = 1;
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.started.size(), 6u);
}

TEST(Driver, MeasuresACandidateAsOftenAsRepeatsSaysAndThenRemembersIt) {
  for (const int workers : {1, 4}) {
    FakeStudy study(workers);
    study.config.space = SpaceBuilder().add_categorical("x", {"a"}).build().value();
    study.config.algorithm.name = "random";
    study.pool.loss = [](const message::Train&, int epoch) { return 1.0 / epoch; };
    study.budget = "100trials";
    study.config.repeats = 5;
    ASSERT_TRUE(study.run());
    EXPECT_EQ(study.pool.started.size(), 6u) << workers;
    EXPECT_EQ(study.driver->state().trials().back().reason.cause, EndCause::kSameTrial);
  }
}

TEST(Driver, ARepeatThatIsLostIsNoMeasurement) {
  FakeStudy study;
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 1}).build().value();
  study.config.algorithm.name = "random";
  study.budget = "100trials";
  study.config.repeats = 1;
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 ? Mishap::kCrash : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  const auto complete = study.driver->state().in_state(TrialState::kComplete);
  const auto trained =
      std::ranges::count_if(complete, [&](TrialId id) { return study.trial(id).attempt > 0; });
  EXPECT_EQ(trained, 4);  // two values of x, twice
}

TEST(Driver, RecordsTheSizeOfARefusedCandidateIfItIsKnownAndElseNone) {
  FakeStudy study;
  study.refuses = [](double x) { return x > 0.5; };
  study.config.algorithm.name = "random";
  for (const std::optional<Cost>& cost : {std::optional<Cost>(), std::optional(Cost{9, 17})}) {
    study.refused_cost = cost;
    study.ledger = {};
    ASSERT_TRUE(study.run());
    const TrialId refused = study.driver->state().in_state(TrialState::kFail).front();
    const event::Asked asked = events_of<event::Asked>(study.ledger).at(refused);
    EXPECT_EQ(asked.network_params, cost ? std::optional<std::int64_t>(9) : std::nullopt);
    EXPECT_EQ(asked.flops, cost ? std::optional<std::int64_t>(17) : std::nullopt);
  }
}

TEST(Driver, ProposesTheInitialTrialsFirst) {
  FakeStudy study(4);
  const std::vector<std::pair<std::string, Value>> quarter = {{"x", 0.25}};
  study.initial = {study.config.space.genome(quarter).value()};
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).trial.genome.number("x"), 0.25);
  EXPECT_EQ(events_of<event::Asked>(study.ledger).front().proposer, "initial");
}

TEST(Driver, ATargetThatIsReachedEndsTheStudy) {
  FakeStudy study(2);
  study.target = Target{.metric = "loss", .at_least = false, .value = 0.6};
  study.budget = "1000trials";
  const auto ended = study.run();
  ASSERT_TRUE(ended);
  EXPECT_NE(ended->find("target"), std::string::npos);
  EXPECT_EQ(study.driver->state().running(), 0);
}

TEST(Driver, AReportOfAnOlderAttemptIsFencedOff) {
  FakeStudy study;
  study.pool.mishap = [&](const message::Train& train, int epoch) {
    if (train.trial != 0 || train.attempt != 1 || epoch != 2) return Mishap::kNone;
    study.pool.extra = {message::Report{0, 0, 1, {.epoch = 2, .metrics = {{"loss", -1}}}},
                        message::Ended{0, 0, 1, message::Ended::Trouble::kNone, {}}};
    return Mishap::kKilled;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).state, TrialState::kComplete);
  for (const auto& report : events_of<event::Reported>(study.ledger))
    EXPECT_GE(report.metrics[0].second, 0);
}

TEST(Driver, ARepeatedReportIsAnsweredAgainAndRecordedOnce) {
  FakeStudy study;
  study.pool.extra = {};
  study.pool.on_answer = [&](const message::ReportAck& answer) {
    if (answer.epochs == 1 && answer.trial == 0 && study.pool.answers.size() == 1)
      study.pool.extra = {message::Report{0, 0, 1, {.epoch = 1, .metrics = {{"loss", -1}}}}};
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.pool.answers[1].verdict, Verdict::kContinue);
  EXPECT_EQ(events_of<event::Reported>(study.ledger).size(), 24u);
}

TEST(Driver, AGroupOfReportsIsAnsweredAtItsEndAndNeedsAllOfThem) {
  FakeStudy study;
  study.budget = "1trials";
  ASSERT_TRUE(study.replay());
  const auto report = [](int epoch, bool more, double after) {
    return message::Report{
        0,    0,    1, {.epoch = epoch, .metrics = {{"loss", 1.0 / epoch}}, .work = 10.0 * epoch},
        more, after};
  };
  // The first report of the group is missing, then all come again.
  bool is_sent = false;
  study.pool.on_start = [&](int, TrialId) {
    if (std::exchange(is_sent, true)) return;
    study.pool.extra = {report(2, true, 1), report(3, false, 2), report(1, true, 0),
                        report(2, true, 1), report(3, false, 2)};
  };
  ASSERT_TRUE(study.driver->run());
  std::vector<int> recorded;
  for (const auto& one : events_of<event::Reported>(study.ledger)) recorded.push_back(one.epoch);
  EXPECT_EQ(recorded, (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(study.pool.answers.front().epochs, 3);
}

TEST(Driver, LetsATrialGoOnUndecidedToTheNextRungUnlessABudgetOrTargetDecides) {
  const auto undecided = [](const std::string& budget, bool has_target) {
    FakeStudy study;
    study.config.pruner = {"asha", {{"min_resource", "2"}}};
    study.budget = budget;
    if (has_target) study.target = parse_target("loss<=-1").value();
    EXPECT_TRUE(study.run());
    return study.pool.started.front().undecided;
  };
  EXPECT_EQ(undecided("1trials", false), 2);
  EXPECT_EQ(undecided("1trials", true), 0);
  EXPECT_EQ(undecided("100flops", false), 0);
}

TEST(Driver, ATrialThatTakesTooLongIsPrunedOrTimesOut) {
  FakeStudy study;
  study.config.resources.max_trial_duration_s = 2.5;
  study.budget = "2trials";
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 1 ? Mishap::kHang : Mishap::kNone;
  };
  study.budget = "2trials";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).reason.cause, EndCause::kDuration);
  EXPECT_EQ(study.trial(0).epochs, 3);
  EXPECT_EQ(study.trial(1).failure, Cause::kTimeout);
  EXPECT_EQ(study.pool.dropped, std::vector<TrialId>{1});
}

TEST(Driver, WhatAWorkerStillTrainsAfterARestartOfTheMasterGoesOn) {
  FakeStudy study;
  study.pool.stop_at = 2;
  ASSERT_FALSE(study.run());
  while (!std::holds_alternative<event::Reported>(study.ledger.transactions.back().front()))
    study.ledger.transactions.pop_back();  // as if the master had died while trial 0 trained
  FakeStudy again(1, study.ledger);
  again.pool.outlived = {{.trial = 0, .attempt = 1}};
  again.pool.start(0, {.trial = 0,
                       .attempt = 1,
                       .seed = 0,
                       .acknowledged = 2,
                       .folder = "",
                       .params = {{"x", 0.5}}});
  ASSERT_TRUE(again.run());
  EXPECT_TRUE(events_of<event::Requeued>(again.ledger).empty());
  EXPECT_EQ(again.trial(0).attempt, 1);
}

TEST(Driver, AFullDiskPausesTheStudyAndLosesNothing) {
  FakeStudy plain, paused;
  paused.pool.on_answer = [&](const message::ReportAck& answer) {
    if (answer.trial == 2 && answer.epochs == 2) paused.ledger.full = 5;
  };
  ASSERT_TRUE(plain.run());
  ASSERT_TRUE(paused.run());
  EXPECT_EQ(paused.outcomes(), plain.outcomes());
  EXPECT_GT(paused.clock.now, plain.clock.now);
}

}  // namespace
}  // namespace detol

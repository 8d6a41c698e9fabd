// Whole studies with the pruner asha: every promotion is compared with the paper's algorithm.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "scheduler/trial_seed.h"
#include "tests/scheduler/asha_paper.h"
#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::Mishap;
using testing_support::Paper;
using testing_support::Problem;

void prepare(FakeStudy& study, const Problem& problem) {
  study.epochs = problem.epochs;
  study.budget = fmt::format("{}trials", problem.trials);
  study.config.algorithm.name = "random";
  study.config.pruner = {"asha",
                         {{"min_resource", std::to_string(problem.min_resource)},
                          {"reduction_factor", std::to_string(problem.eta)}}};
  if (problem.is_maximized) study.config.objectives = {maximize("loss")};
  study.pool.loss = [&problem](const message::Train& train, int epoch) {
    const double loss = problem.loss(train.trial, epoch);
    return problem.is_maximized ? -loss : loss;
  };
  study.pool.mishap = [&problem](const message::Train& train, int epoch) {
    return problem.fails(train.trial, epoch) ? Mishap::kDiverge : Mishap::kNone;
  };
}

TEST(AshaPaper, WithOneWorkerTrainsWhatThePapersAlgorithmTrainsInItsOrder) {
  int promotions = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem(seed);
    FakeStudy study;
    prepare(study, problem);
    const auto ended = study.run();
    if (!ended && ended.error().code == ErrorCode::kFailures) continue;  // the first ten failed
    ASSERT_TRUE(ended) << ended.error().message;
    std::vector<testing_support::Job> trained;
    for (const message::Train& train : study.pool.started)
      trained.push_back({train.trial, static_cast<int>(train.acknowledged)});
    std::vector<testing_support::Job> jobs = Paper(problem).jobs();
    promotions +=
        static_cast<int>(std::ranges::count_if(jobs, [](const auto& job) { return job.from > 0; }));
    // A trial that is promoted right away goes on in its worker, as one job.
    const auto goes_on = [](const auto& job, const auto& next) { return job.trial == next.trial; };
    jobs.erase(std::unique(jobs.begin(), jobs.end(), goes_on), jobs.end());
    EXPECT_EQ(to_text(trained), to_text(jobs)) << "seed " << seed;
  }
  EXPECT_GT(promotions, 1000);
}

// Twelve trials of nine epochs; rungs at 1 and 3.
struct AshaStudy : FakeStudy {
  explicit AshaStudy(int workers = 1, MemoryLedger earlier = {})
      : FakeStudy(workers, std::move(earlier)) {
    epochs = 9;
    budget = "12trials";
    config.pruner.name = "asha";
  }
};

// The same; every trial is worse than those before it, so that none is promoted right away.
struct WorseningStudy : AshaStudy {
  explicit WorseningStudy(MemoryLedger earlier = {}) : AshaStudy(1, std::move(earlier)) {
    pool.loss = [](const message::Train& train, int) { return double(train.trial); };
  }
};

std::vector<TrialId> promoted(MemoryLedger& ledger) {
  std::vector<TrialId> trials;
  for (const auto& requeued : events_of<event::Requeued>(ledger)) {
    if (requeued.reason.cause == RequeueCause::kPromoted) trials.push_back(requeued.trial);
  }
  return trials;
}

TEST(Asha, TellsThatATrialIsPausedAtOnceAndAgainWhenItHasGoneOn) {
  WorseningStudy study;
  ASSERT_TRUE(study.run());
  std::map<TrialId, std::vector<event::Told>> tolds;
  for (const auto& told : events_of<event::Told>(study.ledger)) tolds[told.trial].push_back(told);
  for (const auto& [trial, history] : tolds) {
    EXPECT_EQ(history.front().state, TrialState::kPruned);
    EXPECT_EQ(to_text(history.front().reason), "asha");
    const auto& outcome = std::get<Measured>(history.front().outcome);
    EXPECT_TRUE(outcome.stopped_early);
    EXPECT_EQ(outcome.fidelity, 1);
  }
  const TrialId best = 0;
  EXPECT_EQ(tolds[best].size(), 3u);  // at 1, 3 and 9 epochs
  EXPECT_EQ(tolds[best].back().state, TrialState::kComplete);
  EXPECT_EQ(study.trial(best).epochs, 9);
}

TEST(Asha, APromotedTrialGoesOnAsItsNextAttemptBehindItsLastEpoch) {
  WorseningStudy study;
  ASSERT_TRUE(study.run());
  for (const message::Train& train : study.pool.started) {
    EXPECT_EQ(train.acknowledged, train.attempt == 1 ? 0 : train.attempt == 2 ? 1 : 3);
    EXPECT_EQ(train.seed, trial_seed(7, train.trial));
  }
}

TEST(Asha, ComparesTheBestEpochsSoFarAndTellsThem) {
  FakeStudy study;
  study.config.pruner = {"asha", {{"min_resource", "2"}, {"reduction_factor", "2"}}};
  study.budget = "2trials";
  // Trial 0 is the best after its first epoch, and has lost that when it comes to the rung.
  study.pool.loss = [](const message::Train& train, int epoch) {
    if (train.trial == 1) return 0.5;
    return epoch == 1 ? 0.1 : 0.9;
  };
  study.pool.is_best = [](const message::Train&, int epoch) { return epoch == 1; };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).state, TrialState::kComplete);
  EXPECT_EQ(study.trial(1).state, TrialState::kPruned);
  EXPECT_EQ(std::get<Measured>(*study.trial(0).outcome).values, std::vector{0.1});
  EXPECT_EQ(std::get<Measured>(*study.trial(0).outcome).fidelity, 4);
  EXPECT_EQ(study.driver->state().best()->trial.id, 0U);
}

TEST(Asha, PromotesOnAfterTheLastTrialUntilNoneIsLeft) {
  AshaStudy study;
  study.pool.loss = [](const message::Train& train, int) { return -double(train.trial); };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().trials().size(), 12u);
  EXPECT_FALSE(study.driver->state().in_state(TrialState::kComplete).empty());
  EXPECT_EQ(study.pruner->promotion(), std::nullopt);
  const auto& started = study.pool.started;
  const auto last = std::ranges::find(started, 11u, &message::Train::trial);
  EXPECT_EQ(started.end() - last, 1);  // the last trial is the best: it goes on to 9 epochs
  EXPECT_EQ(study.trial(11).epochs, 9);
}

TEST(Asha, RungsInsideTheFirstEpochCostLittleAndSurviveAKill) {
  AshaStudy whole;
  whole.config.early_reports = {1.0 / 9, 1.0 / 3};
  whole.budget = "30trials";
  ASSERT_TRUE(whole.run());
  std::set<double> rungs;
  for (const auto& told : events_of<event::Told>(whole.ledger))
    rungs.insert(std::get<Measured>(told.outcome).fidelity);
  EXPECT_EQ(rungs, (std::set<double>{1.0 / 9, 1.0 / 3, 1, 3, 9}));
  AshaStudy plain;
  plain.budget = whole.budget;
  ASSERT_TRUE(plain.run());
  EXPECT_LT(whole.driver->state().spent().work, plain.driver->state().spent().work / 2);
  for (int waits = 1; waits < 40; waits += 3) {
    AshaStudy killed;
    killed.config.early_reports = whole.config.early_reports;
    killed.budget = whole.budget;
    killed.pool.stop_at = waits;
    EXPECT_FALSE(killed.run());
    AshaStudy resumed(1, killed.ledger);
    resumed.config.early_reports = whole.config.early_reports;
    resumed.budget = whole.budget;
    resumed.pool.left_s() = killed.pool.left_s();
    ASSERT_TRUE(resumed.run());
    EXPECT_EQ(resumed.outcomes(), whole.outcomes()) << waits;
  }
}

TEST(Asha, PromotesNobodyWhenTheTimeIsOverAndGoesOnWithMore) {
  WorseningStudy study;
  study.budget = "8.2s,12trials";  // no time for a ninth epoch
  ASSERT_TRUE(study.run());
  ASSERT_NE(study.pruner->promotion(), std::nullopt);
  const TrialId next = *study.pruner->promotion();
  WorseningStudy more(study.ledger);
  more.budget = "1000s,12trials";
  ASSERT_TRUE(more.run());
  const auto cut = std::ranges::count_if(study.driver->state().trials(), [](const TrialRecord& t) {
    return t.reason.cause == EndCause::kBudget;
  });
  EXPECT_EQ(more.pool.started[static_cast<std::size_t>(cut)].trial, next);
  WorseningStudy whole;
  ASSERT_TRUE(whole.run());
  EXPECT_EQ(more.outcomes(), whole.outcomes());
}

TEST(Asha, AFailedTrialIsNotPromotedAndARetriedOneIs) {
  WorseningStudy study;
  study.pool.mishap = [](const message::Train&, int epoch) {
    return epoch == 3 ? Mishap::kBroken : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  const std::vector<TrialId> tried = promoted(study.ledger);
  EXPECT_EQ(std::set(tried.begin(), tried.end()).size(), tried.size());
  EXPECT_EQ(study.driver->state().in_state(TrialState::kFail).size(), tried.size());
  WorseningStudy again(study.ledger);
  again.retry_failed = true;
  ASSERT_TRUE(again.run());
  EXPECT_TRUE(again.driver->state().in_state(TrialState::kFail).empty());
  EXPECT_FALSE(again.driver->state().in_state(TrialState::kComplete).empty());
}

TEST(Asha, ATrialWhoseOwnRecipeIsShorterIsCompleteAtARung) {
  AshaStudy study;
  study.own_epochs = [](double x) { return x < 0.5 ? 3 : 9; };
  ASSERT_TRUE(study.run());
  for (const TrialRecord& t : study.driver->state().trials()) {
    const bool is_short = t.trial.genome.number("x") < 0.5;
    EXPECT_FALSE(is_short && t.epochs > 3);
    EXPECT_EQ(t.state == TrialState::kComplete, t.epochs == (is_short ? 3 : 9));
  }
}

TEST(Asha, ATrialThatRanOutOfItsTimeAtARungIsNotPromoted) {
  AshaStudy study;
  study.config.resources.max_trial_duration_s = 2.5;
  ASSERT_TRUE(study.run());
  for (const TrialRecord& t : study.driver->state().trials()) {
    EXPECT_LE(t.epochs, 3);
    EXPECT_EQ(to_text(t.reason), t.epochs == 3 ? "max_trial_duration" : "asha");
  }
}

TEST(Asha, AnswersAKnownCandidateWithWhatThePausedOneReached) {
  AshaStudy study;
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 0.1}).build().value();
  study.config.algorithm.name = "random";
  ASSERT_TRUE(study.run());
  int answered = 0;
  for (const auto& told : events_of<event::Told>(study.ledger)) {
    if (told.reason.cause != EndCause::kSameTrial) continue;
    ++answered;
    EXPECT_EQ(study.trial(told.trial).attempt, 0);
    EXPECT_GT(std::get<Measured>(told.outcome).fidelity, 0);
  }
  EXPECT_GT(answered, 0);
  EXPECT_EQ(study.driver->state().spent().trials, 11);  // x has 11 values
}

// Checks what must hold of a study's ledger, however it was interrupted.
void expect_sound(AshaStudy& study) {
  std::set<std::pair<TrialId, int>> reported;
  for (const auto& r : events_of<event::Reported>(study.ledger))
    EXPECT_TRUE(reported.insert({r.trial, r.epoch}).second) << "trial " << r.trial << " twice";
  std::map<TrialId, int> promotions;
  for (TrialId trial : promoted(study.ledger)) EXPECT_LE(++promotions[trial], 2);
  EXPECT_EQ(study.driver->state().trials().size(), 12u);
  EXPECT_EQ(study.pruner->promotion(), std::nullopt);
  for (const TrialRecord& t : study.driver->state().trials()) {
    EXPECT_TRUE(t.epochs == 1 || t.epochs == 3 || t.epochs == 9 || t.state == TrialState::kFail);
    const message::Train train{.folder = "", .params = t.trial.genome.assignments()};
    if (t.epochs == 0) continue;
    EXPECT_EQ(t.values[0], study.pool.parabola(train, t.epochs));
  }
}

// Resumes after any transaction, as after a kill of all processes, with several workers.
TEST(Asha, AReplayRebuildsItBetweenAnyTwoTransactions) {
  const auto mishap = [](const message::Train& train, int epoch) {
    if (train.trial == 4 && epoch == 1) return Mishap::kDiverge;
    return train.trial == 6 && epoch == 2 && train.acknowledged == 1 ? Mishap::kKilled
                                                                     : Mishap::kNone;
  };
  for (int workers : {2, 3, 5}) {
    AshaStudy live(workers);
    live.pool.mishap = mishap;
    std::vector<std::optional<TrialId>> next;  // to be promoted, after each transaction
    live.ledger.on_append = [&] { next.push_back(live.pruner->promotion()); };
    ASSERT_TRUE(live.run());
    expect_sound(live);
    for (std::size_t kept = 1; kept < live.ledger.transactions.size(); ++kept) {
      MemoryLedger prefix;
      prefix.transactions.assign(live.ledger.transactions.begin(),
                                 live.ledger.transactions.begin() + static_cast<long>(kept));
      AshaStudy resumed(workers, prefix);
      ASSERT_TRUE(resumed.replay());
      EXPECT_EQ(resumed.pruner->promotion(), next[kept - 1]) << "after transaction " << kept;
      ASSERT_TRUE(resumed.driver->run());
      expect_sound(resumed);
    }
  }
}

}  // namespace
}  // namespace detol

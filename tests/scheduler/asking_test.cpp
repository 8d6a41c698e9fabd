// Asking and telling: a study is the same whoever evaluates its trials, and nothing is answered
// before it is durable.

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "knowledge/ledger.h"
#include "scheduler/asking/callers.h"
#include "scheduler/asking/study.h"
#include "tests/scheduler/asking_fixture.h"

namespace detol {
namespace {

using testing_support::Asking;
using testing_support::loss_of;
using testing_support::small_space;

TEST_F(Asking, ToldValuesAreInTheDatabaseAndTheBestIsFound) {
  Study study = open(options("20trials"));
  double least = INFINITY;
  for (int i = 0; i < 20; ++i) {
    const auto trials = study.ask();
    ASSERT_TRUE(trials) << trials.error().message;
    ASSERT_EQ(trials->size(), 1u);
    const double loss = loss_of(trials->front().genome);
    least = std::min(least, loss);
    ASSERT_TRUE(study.tell(trials->front(), loss));
  }
  EXPECT_EQ(study.best()->value().values.front(), least);
  EXPECT_EQ(study.ask().error().code, ErrorCode::kEmpty);
  ASSERT_TRUE(study.close());
  const auto told = events_of<event::Told>();
  ASSERT_EQ(told.size(), 20u);
  for (const auto& one : told) EXPECT_EQ(one.state, TrialState::kComplete);
  EXPECT_EQ(events_of<event::StudyState>().back().state, StudyPhase::kDone);
}

TEST_F(Asking, WhatWasAnsweredIsDurable) {
  Study study = open(options());
  const auto trials = study.ask(3).value();
  EXPECT_EQ(events_of<event::Started>().size(), 3u);
  ASSERT_TRUE(study.tell(trials[1], 1));
  EXPECT_EQ(events_of<event::Told>().size(), 1u);
  EXPECT_EQ(events_of<event::Told>().front().trial, trials[1].trial);
}

TEST_F(Asking, TrialsThatWereNotToldComeAgainInTheNextRun) {
  std::vector<AskedTrial> first;
  {
    Study study = open(options());
    first = study.ask(3).value();
    ASSERT_TRUE(study.tell(first[0], 1));
  }
  EXPECT_EQ(events_of<event::StudyState>().back().state, StudyPhase::kStopped);
  Study study = open(options());
  const auto again = study.ask(2).value();
  ASSERT_EQ(again.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(again[static_cast<std::size_t>(i)].trial,
              first[static_cast<std::size_t>(i) + 1].trial);
    EXPECT_EQ(again[static_cast<std::size_t>(i)].attempt, 2);
  }
  EXPECT_EQ(study.tell(first[1], 3).error().message,
            fmt::format("trial {} was given to another caller meanwhile", first[1].trial));
  EXPECT_TRUE(study.tell(again[0], 3));
}

TEST_F(Asking, AResumedStudyProposesWhatOneWithoutAnInterruptionDoes) {
  const auto values_of = [&](bool interrupted, const std::string& name) {
    StudyOptions with = options("30trials");
    with.name = name;
    with.algorithm = "gp";
    with.warm_start = false;
    std::vector<double> values;
    while (values.size() < 30) {
      Study study = open(with);
      for (int i = 0; i < (interrupted ? 7 : 30) && values.size() < 30; ++i) {
        const AskedTrial trial = study.ask().value().front();
        values.push_back(loss_of(trial.genome));
        EXPECT_TRUE(study.tell(trial, values.back()));
      }
    }
    return values;
  };
  EXPECT_EQ(values_of(true, "interrupted"), values_of(false, "whole"));
}

TEST_F(Asking, AFunctionThatThrowsOrReturnsNoNumberFailsItsTrialAlone) {
  const auto best = optimize(small_space(),
                             [](TrialContext& trial) -> Values {
                               if (trial.id() % 3 == 1) throw std::runtime_error("no luck");
                               if (trial.id() % 3 == 2) return std::nan("");
                               return loss_of(trial.genome());
                             },
                             options("30trials"), {.threads = 4});
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_EQ(best->trial % 3, 0u);
  for (const auto& told : events_of<event::Told>()) {
    const auto cause = cause_of(told.outcome);
    EXPECT_EQ(cause.has_value(), told.trial % 3 != 0);
    const bool is_diverged = told.trial % 3 == 2;
    EXPECT_EQ(cause == Cause::kDiverged, is_diverged);
    EXPECT_EQ(told.reason.detail == "no luck", told.trial % 3 == 1);
  }
}

TEST_F(Asking, AFunctionThatNamesNoParameterFailsItsTrialsAndSaysWhy) {
  const auto error_of = [&](const std::string& study, const Function& function) {
    StudyOptions with = options("3trials");
    with.name = study;
    const auto best = optimize(small_space(), function, with, {.threads = 1});
    return best ? "it has a value" : best.error().message;
  };
  EXPECT_NE(error_of("misspelt", [](TrialContext& trial) { return trial.number("momntum"); })
                .find("3 trials all failed, trial 2 as unknown parameter 'momntum'; did you mean "
                      "'momentum'? known: x, opt, momentum"),
            std::string::npos);
  EXPECT_NE(error_of("text", [](TrialContext& trial) { return Values(trial.flag("x") ? 1 : 0); })
                .find("3 trials all failed, trial 2 as parameter 'x' is "),
            std::string::npos);
  EXPECT_NE(error_of("whole", [](TrialContext& trial) { return double(trial.integer("x")); })
                .find("which is not a whole number"),
            std::string::npos);
}

TEST_F(Asking, AFunctionThatThrowsWhatIsNoExceptionFailsItsTrialAlone) {
  const auto best = optimize(small_space(),
                             [](TrialContext& trial) -> Values {
                               if (trial.id() == 0) throw 42;
                               return 1;
                             },
                             options("3trials"), {.threads = 1});
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_EQ(best->trial, 1u);
}

TEST_F(Asking, AParameterOfWholeNumbersIsReadAsOne) {
  const Space space =
      SpaceBuilder().add_int("layers", 3, 3).add_numbers("batch", {32}).build().value();
  const auto best =
      optimize(space,
               [](TrialContext& trial) {
                 return static_cast<double>(100 * trial.integer("layers") + trial.integer("batch"));
               },
               options("1trials"), {.threads = 1});
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_EQ(best->values.front(), 332);
}

TEST_F(Asking, TrialsThatFailedInAnEarlierRunAreGivenOutAgain) {
  int calls = 0;
  const auto run = [&](bool fails, bool retries) {
    StudyOptions with = options("5trials");
    with.retry_failed = retries;
    return optimize(small_space(),
                    [&, fails](TrialContext& trial) -> Values {
                      ++calls;
                      if (fails) throw std::runtime_error("a typo");
                      return loss_of(trial.genome());
                    },
                    with, {.threads = 1});
  };
  EXPECT_NE(run(true, true).error().message.find("5 trials all failed, trial 4 as a typo"),
            std::string::npos);
  EXPECT_EQ(calls, 5);
  EXPECT_FALSE(run(false, false));
  EXPECT_EQ(calls, 5) << "nothing is left of the budget";
  EXPECT_TRUE(run(false, true));
  EXPECT_EQ(calls, 10);
  EXPECT_TRUE(run(false, true));
  EXPECT_EQ(calls, 10) << "all have a value";
}

TEST_F(Asking, ThePrunerStopsAFunctionThatReports) {
  StudyOptions with = options("40trials");
  with.pruner = "asha";
  with.pruner_options = {{"min_resource", "1"}, {"reduction_factor", "3"}};
  with.steps = 9;
  std::atomic<int> whole = 0, stopped = 0;
  const auto best = optimize(small_space(),
                             [&](TrialContext& trial) -> Values {
                               const double loss = loss_of(trial.genome());
                               for (int step = trial.steps_done() + 1; step <= 9; ++step) {
                                 const bool is_over = trial.report(step, loss + 1.0 / step);
                                 if (is_over) {
                                   ++(step == 9 ? whole : stopped);
                                   break;
                                 }
                               }
                               return loss;
                             },
                             with, {.threads = 2});
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_GT(whole, 0);
  EXPECT_GT(stopped, 10);
  for (const auto& told : events_of<event::Told>()) {
    const bool is_whole = std::get<Measured>(told.outcome).fidelity == 9;
    EXPECT_EQ(told.state == TrialState::kComplete, is_whole);
  }
}

TEST_F(Asking, APausedTrialThatAnotherResumedIsOverForWhoeverHadIt) {
  StudyOptions with = options("10trials");
  with.pruner = "asha";
  with.pruner_options = {{"min_resource", "1"}, {"reduction_factor", "3"}};
  with.steps = 9;
  Study study = open(with);
  const std::vector<AskedTrial> asked = study.ask(3).value();
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(study.report(asked[i], 1, 1.0 + static_cast<double>(i)).value()) << i;
  const AskedTrial resumed = study.ask().value().front();
  ASSERT_EQ(resumed.trial, asked[0].trial);
  EXPECT_TRUE(study.tell(asked[0], 7));
  EXPECT_TRUE(study.report(asked[0], 2, 7).value());
  EXPECT_FALSE(study.report(resumed, 2, 0.5).value());
  EXPECT_EQ(study.best()->value().values.front(), 0.5);
}

TEST_F(Asking, AFirstStepOf0CountsFrom0AndNoReportIsLost) {
  StudyOptions with = options();
  with.steps = 3;
  Study study = open(with);
  const AskedTrial trial = study.ask().value().front();
  EXPECT_FALSE(study.report(trial, 0, 3).value());
  EXPECT_FALSE(study.report(trial, 1, 2).value());
  EXPECT_TRUE(study.report(trial, 2, 1).value()) << "it has all its steps";
  EXPECT_EQ(study.best()->value().values.front(), 1);
}

TEST_F(Asking, ATrialOfAnotherStudyIsRefused) {
  AskedTrial trial;
  {
    StudyOptions with = options();
    with.name = "other";
    trial = open(with).ask().value().front();
  }
  Study study = open(options());
  ASSERT_TRUE(study.ask());
  const std::string why = "trial 0 is of study other, and this is mine";
  EXPECT_EQ(study.tell(trial, 1).error().message, why);
  EXPECT_EQ(study.report(trial, 1, 1).error().message, why);
  EXPECT_EQ(study.tell_failed(trial, "why").error().message, why);
}

TEST_F(Asking, ADatabaseThatIsDeletedIsAnErrorAtTheNextCall) {
  Study study = open(options());
  const AskedTrial trial = study.ask().value().front();
  std::filesystem::remove(folder_.path() / "detol.db");
  const auto told = study.tell(trial, 1);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kStorage);
  EXPECT_NE(told.error().message.find("was deleted or replaced"), std::string::npos);
  EXPECT_FALSE(study.close());
}

TEST_F(Asking, TheValueOfATrialIsTheBestThatItReportedAndATellCounts) {
  StudyOptions with = options("1trials");
  Study study = open(with);
  const AskedTrial trial = study.ask().value().front();
  EXPECT_FALSE(study.report(trial, 1, 3).value());
  EXPECT_FALSE(study.report(trial, 2, 1).value());
  EXPECT_FALSE(study.report(trial, 3, 2).value());
  EXPECT_EQ(study.best()->value().values.front(), 1);
  ASSERT_TRUE(study.tell(trial, 5));
  EXPECT_EQ(study.best()->value().values.front(), 5);
}

TEST_F(Asking, ACandidateOfTheCallersIsATrialOfTheStudy) {
  Study study = open(options());
  const std::vector<std::pair<std::string, Value>> candidate = {{"x", 1.5}, {"opt", "adam"}};
  const AskedTrial trial = study.ask_for(candidate).value();
  EXPECT_EQ(trial.genome.number("x"), 1.5);
  ASSERT_TRUE(study.tell(trial, 3.25));
  const AskedTrial again = study.ask_for(candidate).value();
  EXPECT_EQ(again.known, TrialState::kComplete) << "the same candidate has the same outcome";
  EXPECT_FALSE(study.ask_for({{"x", 99.0}, {"opt", "adam"}}));
  EXPECT_EQ(study.ask().value().front().trial, again.trial + 1);
}

TEST_F(Asking, RefusesWhatTheCallerCannotMean) {
  Study study = open(options());
  const AskedTrial trial = study.ask().value().front();
  EXPECT_EQ(study.tell(trial, Values{1, 2}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(study.report(trial, -1, 1).error().message, "step -1 is below 0");
  EXPECT_EQ(study.ask(0).error().message, "0 trials cannot be asked for");
  AskedTrial other = trial;
  other.trial = 99;
  EXPECT_EQ(study.tell(other, 1).error().message, "study mine has no trial 99");
  EXPECT_EQ(open_study(small_space(), options()).error().code, ErrorCode::kUsage)
      << "one ledger of a database in a process";
  ASSERT_TRUE(study.close());
  StudyOptions with = options();
  with.algorithm = "gpp";
  EXPECT_NE(open_study(small_space(), with).error().message.find("did you mean"),
            std::string::npos);
  const Space another = SpaceBuilder().add_float("x", 0, 1).build().value();
  EXPECT_EQ(open_study(another, options()).error().code, ErrorCode::kInput);
  StudyOptions latin = options();
  latin.objectives = {minimize("caf\xe9")};
  EXPECT_NE(open_study(small_space(), latin).error().message.find("is not UTF-8"),
            std::string::npos);
}

TEST_F(Asking, AClosedStudyAnswersThatItIsClosed) {
  Study study = open(options());
  const AskedTrial trial = study.ask().value().front();
  ASSERT_TRUE(study.close());
  EXPECT_EQ(study.ask().error().message, "the study is closed");
  EXPECT_EQ(study.tell(trial, 1).error().message, "the study is closed");
  EXPECT_EQ(study.best().error().message, "the study is closed");
}

// An order can come late: while the ledger cannot be written, callers are answered that there are
// no more trials.
TEST(Callers, ATrialThatNobodyAsksForAnyMoreIsGivenBack) {
  const StudyConfig config;
  Callers callers(config, system_clock());
  message::Train train;
  train.trial = 5;
  train.attempt = 2;
  callers.start(PendingAsks::kFirstSlot, train);
  callers.decline(PendingAsks::kFirstSlot, 6);
  const std::vector<PoolEvent> events = callers.wait(0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<Lost>(events[0]).trial, 5u);
  EXPECT_EQ(std::get<Lost>(events[0]).attempt, 2);
  EXPECT_TRUE(callers.is_idle());
}

TEST_F(Asking, SimulatedTimeIsTheSameEachTimeAndTakesNone) {
  const auto run = [&](const std::string& name) {
    StudyOptions with = options("1000s");
    with.name = name;
    with.algorithm = "evolution";
    with.warm_start = false;
    with.simulates_time = true;
    std::mutex mutex;
    std::vector<std::pair<TrialId, double>> order;
    Study study = open(with);
    const auto why = study.optimize(
        [&](TrialContext& trial) -> Values {
          const double loss = loss_of(trial.genome());
          trial.spend(20 + loss);  // in which seven other threads work
          const std::lock_guard lock(mutex);
          order.emplace_back(trial.id(), loss);
          return loss;
        },
        {.threads = 8});
    EXPECT_TRUE(why->starts_with("the budget is used up")) << *why;
    EXPECT_TRUE(study.close());
    return order;
  };
  const auto first = run("a");
  EXPECT_EQ(first, run("b"));
  EXPECT_GT(first.size(), 8 * 20u) << "eight threads for 1,000 s, 20 to 46 s a trial";
  EXPECT_LT(first.size(), 8 * 50u);
}

TEST_F(Asking, ThreadsThatAskAtOnceGetDifferentTrials) {
  std::mutex mutex;
  std::map<TrialId, int> seen;
  const auto best = optimize(small_space(),
                             [&](TrialContext& trial) -> Values {
                               const std::lock_guard lock(mutex);
                               ++seen[trial.id()];
                               return loss_of(trial.genome());
                             },
                             options("200trials"), {.threads = 8});
  ASSERT_TRUE(best);
  EXPECT_EQ(seen.size(), 200u);
  for (const auto& [trial, times] : seen) EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace detol

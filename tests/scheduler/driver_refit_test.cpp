// Refits of a searcher's model: when they run, what waits for them, and what the ledger records.

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeModel;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::stop_if;

struct ModelStudy : FakeStudy {
  explicit ModelStudy(int workers = 1, MemoryLedger earlier = {})
      : FakeStudy(workers, std::move(earlier)) {
    config.algorithm.name = "fake_model";
    budget = "18trials";
  }
  FakeModel& model() { return dynamic_cast<FakeModel&>(*searcher); }
};

// Holds a job until the test lets it end.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    is_reached_ = true;
    changed_.wait(lock, [&] { return is_open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  bool is_reached() {
    const std::lock_guard lock(mutex_);
    return is_reached_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  bool is_reached_ = false;
};

// Returns the events of a ledger that the searcher receives.
std::vector<std::string> story(MemoryLedger& ledger) {
  std::vector<std::string> lines;
  const std::vector<Event> all = ledger.events(1).value();
  for (const Event& event : all) {
    if (const auto* asked = std::get_if<event::Asked>(&event))
      lines.push_back(fmt::format("asked {} {}", asked->trial, to_text(asked->params[0].second)));
    if (const auto* told = std::get_if<event::Told>(&event))
      lines.push_back(fmt::format("told {}", told->trial));
    if (const auto* refit = std::get_if<event::Refit>(&event))
      lines.push_back(fmt::format("refit {} {} {} {}", refit->model, refit->version,
                                  refit->observations, refit->parameters.at(0)));
  }
  return lines;
}

std::size_t place_of(const std::vector<std::string>& lines, std::string_view start) {
  const auto found =
      std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(start); });
  return static_cast<std::size_t>(found - lines.begin());
}

TEST(Refitting, WithOneWorkerEveryAskComesAfterTheRefitThatWasDue) {
  ModelStudy study;
  ASSERT_TRUE(study.run());
  const auto lines = story(study.ledger);
  for (const auto& [refit, told, asked] :
       {std::tuple{"refit fake_model 1 5 ", "told 4", "asked 5"},
        std::tuple{"refit fake_model 2 10 ", "told 9", "asked 10"},
        std::tuple{"refit fake_model 3 15 ", "told 14", "asked 15"}}) {
    EXPECT_EQ(place_of(lines, refit), place_of(lines, told) + 1) << refit;
    EXPECT_EQ(place_of(lines, refit) + 1, place_of(lines, asked)) << refit;
  }
}

TEST(Refitting, AFitThatTakesItsTimeHoldsTheOneWorkersNextAskAndNothingElse) {
  ModelStudy at_once, held;
  ASSERT_TRUE(at_once.run());
  Gate gate;
  held.refits = Refits::kBeside;
  held.fit_work = [&] { gate.pass(); };
  int turns = 0;
  held.pool.on_wait = [&] {
    if (!gate.is_reached() || ++turns > 50) return;
    EXPECT_LE(held.driver->state().next_id(), 5u);
    if (turns == 50) gate.open();
  };
  ASSERT_TRUE(held.run());
  EXPECT_GT(turns, 50);
  EXPECT_EQ(story(held.ledger), story(at_once.ledger));
}

TEST(Refitting, AWorkerThatJoinsEndsTheWaitForAFit) {
  ModelStudy study;
  Gate gate;
  study.refits = Refits::kBeside;
  study.fit_work = [&] { gate.pass(); };
  int turns = 0;
  study.pool.on_wait = [&] {
    if (!gate.is_reached()) return;
    if (++turns == 20) {
      EXPECT_EQ(study.driver->state().next_id(), 5u);
      study.pool.busy_others = 1;
    }
    if (turns == 1000 || study.driver->state().next_id() >= 8) gate.open();
  };
  ASSERT_TRUE(study.run());
  EXPECT_GT(turns, 20);
  EXPECT_LT(turns, 1000);
}

TEST(Refitting, WithSeveralWorkersAsksGoOnMeanwhile) {
  ModelStudy study(3);
  Gate gate;
  study.refits = Refits::kBeside;
  study.fit_work = [&] { gate.pass(); };
  study.budget = "1000000trials";
  study.pool.on_wait = [&] {
    if (study.driver->state().next_id() >= 40) gate.open();
  };
  study.requests = [&] { return stop_if(study.model().version() >= 2); };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
  const auto lines = story(study.ledger);
  EXPECT_LT(place_of(lines, "asked 39 "), place_of(lines, "refit fake_model 1 "));
  EXPECT_LT(place_of(lines, "refit fake_model 2 "), lines.size());
}

TEST(Refitting, AStopDoesNotWaitForAFit) {
  for (const int workers : {1, 3}) {
    ModelStudy study(workers);
    Gate gate;
    study.refits = Refits::kBeside;
    study.fit_work = [&] { gate.pass(); };
    study.budget = "1000000trials";
    study.requests = [&] { return stop_if(gate.is_reached()); };
    const auto ended = study.run();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
    EXPECT_EQ(events_of<event::StudyState>(study.ledger).back().state, StudyPhase::kStopped);
    gate.open();
  }
}

TEST(Refitting, AStudyCanEndWhileAFitGoesOn) {
  ModelStudy study(3);
  Gate gate;
  study.refits = Refits::kBeside;
  study.fit_work = [&] { gate.pass(); };
  EXPECT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().trials().size(), 18u);
  EXPECT_TRUE(events_of<event::Refit>(study.ledger).empty());
  gate.open();
}

TEST(Refitting, TheSearcherExpectsWhatWasAskedAndNotTold) {
  const auto expect_untold = [](ModelStudy& study) {
    std::set<TrialId> untold;
    for (const TrialRecord& trial : study.driver->state().trials()) {
      if (!trial.outcome) untold.insert(trial.trial.id);
    }
    EXPECT_EQ(study.model().expected(), untold);
  };
  ModelStudy study(4);
  study.pool.on_wait = [&] { expect_untold(study); };
  study.pool.stop_at = 30;
  ASSERT_FALSE(study.run());
  ModelStudy resumed(4, study.ledger);
  ASSERT_TRUE(resumed.replay());
  EXPECT_EQ(resumed.model().expected().size(), 4u);
  expect_untold(resumed);
}

TEST(Refitting, AReplayAbsorbsWhatTheLedgerHasAndFitsNothing) {
  for (const Refits refits : {Refits::kAtOnce, Refits::kBeside}) {
    ModelStudy study(3);
    study.refits = refits;
    ASSERT_TRUE(study.run());
    ModelStudy resumed(3, study.ledger);
    resumed.fit_work = [] { ADD_FAILURE() << "a fit"; };
    ASSERT_TRUE(resumed.replay());
    EXPECT_EQ(resumed.model().version(), study.model().version());
    EXPECT_FALSE(resumed.model().got_prepared());
  }
}

TEST(Refitting, WhatAJobPreparedReachesTheSearcherThatLives) {
  ModelStudy study;
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.model().version(), 3u);
  EXPECT_TRUE(study.model().got_prepared());
}

TEST(Refitting, AResumedSearcherProposesWhatTheOtherWould) {
  ModelStudy study(3);
  ASSERT_TRUE(study.run());
  ModelStudy resumed(3, study.ledger);
  ASSERT_TRUE(resumed.replay());
  EXPECT_EQ(resumed.searcher->background().has_value(), study.searcher->background().has_value());
  for (TrialId id = 18; id < 30; ++id)
    EXPECT_EQ(resumed.searcher->ask(id, 1).at(0).genome, study.searcher->ask(id, 1).at(0).genome);
}

TEST(Refitting, AFitThatFailsIsTriedAgainAfterTheNextTrial) {
  for (const Refits refits : {Refits::kAtOnce, Refits::kBeside}) {
    ModelStudy study;
    std::atomic<int> failures = 2;
    study.refits = refits;
    study.fit_work = [&] {
      if (failures-- > 0) throw std::bad_alloc();
    };
    study.budget = "1000000trials";
    study.requests = [&] { return stop_if(study.model().version() >= 1); };
    const auto ended = study.run();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
    EXPECT_GE(place_of(story(study.ledger), "refit "), place_of(story(study.ledger), "told 6"));
    EXPECT_EQ(events_of<event::Refit>(study.ledger).front().version, 1u);
  }
}

}  // namespace
}  // namespace detol

#include "scheduler/proposals.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;

const Space& space() {
  static const Space kSpace = SpaceBuilder().add_float("x", 0, 1).build().value();
  return kSpace;
}

Trial trial_of(TrialId id) {
  const std::vector<std::pair<std::string, Value>> params = {{"x", 0.25}};
  return {.id = id, .genome = space().genome(params).value()};
}

// Proposes always the same, and notes in which order it is called.
class NotingSearcher final : public Searcher {
 public:
  std::vector<Trial> ask(TrialId first_id, int count) override {
    if (throws) throw std::bad_alloc();
    calls += "a" + std::to_string(first_id);
    std::vector<Trial> trials;
    for (int i = 0; i < std::min(count, most); ++i)
      trials.push_back(trial_of(first_id + static_cast<TrialId>(i)));
    return trials;
  }
  void tell(const Trial& trial, const Outcome&) override {
    calls += "t" + std::to_string(trial.id);
  }
  void expect(const Trial& trial) override { calls += "e" + std::to_string(trial.id); }

  std::string calls;
  int most = 1000;
  bool throws = false;
};

// Proposals of a searcher that takes `seconds` for each, in virtual time.
struct SlowAsks {
  explicit SlowAsks(double seconds, bool has_fallback = true)
      : proposals(searcher, clock,
                  {.asks = Asks::kVirtual,
                   .fallback = has_fallback ? &fallback : nullptr,
                   .seconds = [seconds](std::int64_t) { return seconds; }}) {}

  // Asks, waits until the proposals are there, and takes them.
  std::vector<Proposal> ask(const Demand& demand) {
    (void)proposals.next(demand);
    clock.now += proposals.seconds_left().value_or(0);
    proposals.collect();
    return proposals.next(demand);
  }

  VirtualClock clock;
  NotingSearcher searcher, fallback;
  Proposals proposals;
};

TEST(Proposals, ASearcherHearsWhatWasToldDuringAnAskAfterIt) {
  SlowAsks slow(2);
  EXPECT_TRUE(slow.proposals.next({.next_id = 0, .wanted = 1, .workers = 2}).empty());
  EXPECT_TRUE(slow.proposals.is_at_work());
  slow.proposals.expect(trial_of(7));
  slow.proposals.tell(trial_of(7), Measured{.values = {1}});
  EXPECT_EQ(slow.searcher.calls, "a0");
  EXPECT_EQ(slow.fallback.calls, "e7t7");
  slow.clock.now = 1.9;
  slow.proposals.collect();
  EXPECT_TRUE(slow.proposals.next({.next_id = 0, .wanted = 1, .workers = 2}).empty());
  slow.clock.now = 2;
  slow.proposals.collect();
  EXPECT_EQ(slow.searcher.calls, "a0e7t7");
  const auto proposals = slow.proposals.next({.next_id = 0, .wanted = 1, .workers = 2});
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(proposals[0].trial.id, 0u);
  EXPECT_EQ(proposals[0].behind, 1);
}

TEST(Proposals, OfALateSearcherAreAnothersAndNumberedWithoutGaps) {
  SlowAsks slow(3);
  ASSERT_EQ(slow.ask({.next_id = 0, .wanted = 1}).size(), 1u);  // now it is known to be slow
  const auto cheap =
      slow.proposals.next({.next_id = 1, .wanted = 5, .late = 3, .trial_s = 30, .workers = 2});
  ASSERT_EQ(cheap.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(cheap[i].trial.proposer, kFallback);
    EXPECT_EQ(cheap[i].trial.id, 1 + i);
  }
  const auto own = slow.ask({.next_id = 4, .wanted = 2, .trial_s = 30});
  ASSERT_EQ(own.size(), 1u);  // a batch is short where the searcher is slow
  EXPECT_EQ(own[0].trial.id, 4u);
  EXPECT_EQ(own[0].trial.proposer, "");
}

TEST(Proposals, ALateSearcherIsWaitedForWhereThereIsNoOther) {
  SlowAsks slow(3, /*has_fallback=*/false);
  ASSERT_EQ(slow.ask({.next_id = 0, .wanted = 1}).size(), 1u);
  EXPECT_TRUE(
      slow.proposals.next({.next_id = 1, .wanted = 5, .late = 5, .trial_s = 30, .workers = 2})
          .empty());
}

TEST(Proposals, ASearcherThatNeedsOutcomesFirstIsNotAskedAgainBeforeOne) {
  SlowAsks slow(3);
  slow.searcher.most = 0;
  EXPECT_TRUE(slow.ask({.next_id = 0, .wanted = 4, .late = 4}).empty());
  EXPECT_TRUE(slow.proposals.is_dry());
  EXPECT_EQ(slow.searcher.calls, "a0");
  slow.searcher.most = 1;
  slow.proposals.tell(trial_of(0), Measured{.values = {1}});
  EXPECT_FALSE(slow.proposals.is_dry());
  EXPECT_EQ(slow.ask({.next_id = 1, .wanted = 4}).size(), 1u);
}

TEST(Proposals, AreMadeAheadOnlyWhereWaitingForThemWouldCost) {
  const Demand demand{.next_id = 1, .trial_s = 30, .workers = 20};
  SlowAsks brief(0.2);  // of a trial of 30 s: less than a hundredth
  (void)brief.ask({.next_id = 0, .wanted = 1});
  brief.proposals.prepare(demand, 100);
  EXPECT_FALSE(brief.proposals.is_at_work());

  SlowAsks slow(3);
  (void)slow.ask({.next_id = 0, .wanted = 1});
  for (TrialId id = 1; id <= 3; ++id) {  // three are wanted: 20 workers need two in 3 s
    slow.proposals.prepare(demand, 100);
    EXPECT_TRUE(slow.proposals.is_at_work()) << id;
    slow.clock.now += 3;
    slow.proposals.collect();
  }
  slow.proposals.prepare(demand, 100);
  EXPECT_FALSE(slow.proposals.is_at_work());
  EXPECT_EQ(slow.searcher.calls, "a0a1a2a3");
  slow.proposals.tell(trial_of(0), Measured{.values = {1}});
  const auto ready = slow.proposals.next({.next_id = 1, .wanted = 2, .workers = 2});
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_EQ(ready[0].behind, 1);
}

TEST(Proposals, ATrialBudgetLimitsWhatIsMadeAhead) {
  SlowAsks slow(3);
  (void)slow.ask({.next_id = 0, .wanted = 1});
  slow.proposals.prepare({.next_id = 1, .trial_s = 30, .workers = 20}, 0);
  EXPECT_FALSE(slow.proposals.is_at_work());
}

// Ends the wait of a test when an ask on a thread has ended.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    ++rung_;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rung_ > 0; });
    --rung_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int rung_ = 0;
};

TEST(Proposals, OfAThreadComeAfterItsWake) {
  VirtualClock clock;
  NotingSearcher searcher;
  Bell bell;
  Proposals proposals(searcher, clock, {.asks = Asks::kBeside, .wake = [&] { bell.ring(); }});
  EXPECT_TRUE(proposals.next({.next_id = 0, .wanted = 3, .workers = 2}).empty());
  bell.wait();
  proposals.collect();
  EXPECT_FALSE(proposals.is_at_work());
  EXPECT_EQ(proposals.next({.next_id = 0, .wanted = 3, .workers = 2}).size(), 1u);
}

TEST(Proposals, AnErrorOfTheThreadIsThrownInItsOwner) {
  VirtualClock clock;
  NotingSearcher searcher;
  searcher.throws = true;
  Bell bell;
  Proposals proposals(searcher, clock, {.asks = Asks::kBeside, .wake = [&] { bell.ring(); }});
  EXPECT_TRUE(proposals.next({.next_id = 0, .wanted = 1, .workers = 2}).empty());
  bell.wait();
  EXPECT_THROW(proposals.collect(), std::bad_alloc);
  EXPECT_FALSE(proposals.is_at_work());
}

// 20 workers, four epochs of a second a trial: a searcher that takes half a second for a proposal
// can serve eight of them.
TEST(SlowSearcher, KeepsNoWorkerWaitingAndTheStudyResumes) {
  FakeStudy study(20);
  const auto fallback =
      make_searcher("random", study.config.space, {.objectives = {minimize("loss")}, .options = {}})
          .value();
  study.budget = "200trials";
  study.asks = {.asks = Asks::kVirtual,
                .fallback = fallback.get(),
                .seconds = [](std::int64_t told) { return told < 10 ? 0.0 : 0.5; }};
  ASSERT_TRUE(study.run());
  const auto asked = events_of<event::Asked>(study.ledger);
  const auto cheap = std::ranges::count(asked, kFallback, &event::Asked::proposer);
  EXPECT_GT(cheap, 80);
  EXPECT_LT(cheap, 140);
  for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(asked[i].trial, i);
  const double busy_s = 200 * 4.0;
  EXPECT_GT(busy_s / study.pool.held_s(), 0.85);  // the searcher alone would keep 8 of 20 busy
  FakeStudy again(20, study.ledger);
  ASSERT_TRUE(again.replay());
  EXPECT_EQ(again.outcomes(), study.outcomes());
}

// Trial 0 keeps one of two workers; the other is late only if one proposal takes 2 % of a trial.
TEST(SlowSearcher, IsNotLateWhereItsProposalsAreRefused) {
  FakeStudy study(2);
  const auto fallback =
      make_searcher("random", study.config.space, {.objectives = {minimize("loss")}, .options = {}})
          .value();
  study.pool.seconds = [](const message::Train& train, int) { return train.trial == 0 ? 500 : 1; };
  study.refuses = [](double x) { return x < 0.7; };
  study.config.algorithm.name = "random";
  study.budget = "60trials";
  study.asks = {.asks = Asks::kVirtual, .fallback = fallback.get(), .seconds = [](std::int64_t) {
                  return 0.03;
                }};
  ASSERT_TRUE(study.run());
  const auto asked = events_of<event::Asked>(study.ledger);
  EXPECT_GT(asked.size(), 100U);  // three of four are refused
  EXPECT_EQ(std::ranges::count(asked, kFallback, &event::Asked::proposer), 0);
}

TEST(SlowSearcher, OfOneWorkerIsWaitedFor) {
  FakeStudy at_once, study;
  ASSERT_TRUE(at_once.run());
  study.asks = {.asks = Asks::kVirtual, .seconds = [](std::int64_t) { return 0.25; }};
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.outcomes(), at_once.outcomes());
  EXPECT_EQ(study.clock.now, at_once.clock.now + 6 * 0.25);
}

}  // namespace
}  // namespace detol

// Workers of unequal memory, and trials that need more or less of it.

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;

// Trials need 10 bytes; those whose number of epochs is 5, as is a third of them, need 100.
struct UnequalStudy : FakeStudy {
  explicit UnequalStudy(std::vector<double> memory, MemoryLedger earlier = {})
      : FakeStudy(static_cast<int>(memory.size()), std::move(earlier)) {
    pool.memory = std::move(memory);
    own_epochs = [](double x) { return is_large(x) ? 5 : 4; };
    epochs = 5;
    foreseen_bytes = [](const Candidate& candidate) {
      return candidate.recipe.epochs == 5 ? 100.0 : 10.0;
    };
    config.algorithm.name = "random";
    budget = "24trials";
  }
  static bool is_large(double x) { return x > 2.0 / 3; }
  bool is_large(TrialId id) const { return is_large(trial(id).trial.genome.number("x")); }
};

TEST(DriverMemory, LargeTrialsTrainOnWorkersThatHaveTheMemory) {
  UnequalStudy study({50, 200, 50});
  std::map<int, int> large, small;
  const auto pool_start = [&](int worker, TrialId id) {
    ++(study.is_large(id) ? large : small)[worker];
  };
  study.pool.on_start = pool_start;
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().in_state(TrialState::kComplete).size(), 24);
  EXPECT_EQ(large.size(), 1);
  EXPECT_GT(large[1], 3);
  EXPECT_GT(small[0], 3);
  EXPECT_GT(small[2], 3);
}

TEST(DriverMemory, WhatNoWorkerHasMemoryForIsRefused) {
  UnequalStudy study({50, 60});
  study.budget = "12trials";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().in_state(TrialState::kComplete).size(), 12);
  const auto failed = study.driver->state().in_state(TrialState::kFail);
  ASSERT_FALSE(failed.empty());
  for (const TrialId id : failed) {
    EXPECT_TRUE(study.is_large(id));
    EXPECT_EQ(study.trial(id).failure, Cause::kTooLarge);
    EXPECT_EQ(study.trial(id).attempt, 0);
  }
  EXPECT_EQ(study.trial(failed.front()).reason.detail,
            "100 bytes foreseen, and no worker has more than 60");
}

// A trial that was begun where there was more memory is not lost: it waits, and the search ends.
TEST(DriverMemory, ATrialThatNoWorkerHasMemoryForAnyMoreWaits) {
  UnequalStudy before({200, 200});
  before.pool.stop_at = 9;
  EXPECT_FALSE(before.run());
  std::vector<TrialId> begun;
  for (const TrialId id : before.driver->state().in_state(TrialState::kWaiting)) {
    if (before.is_large(id)) begun.push_back(id);
  }
  ASSERT_FALSE(begun.empty());
  UnequalStudy after({50, 50}, before.ledger);
  const auto ended = after.run();
  ASSERT_TRUE(ended);
  EXPECT_NE(ended->find("wait"), std::string::npos) << *ended;
  for (const TrialId id : begun) EXPECT_EQ(after.trial(id).state, TrialState::kWaiting);
  UnequalStudy again({50, 200}, after.ledger);
  ASSERT_TRUE(again.run());
  for (const TrialId id : begun) EXPECT_EQ(again.trial(id).state, TrialState::kComplete);
}

// Small trials leave the worker that large ones need alone, if another is free.
TEST(DriverMemory, OfWorkersWithEnoughTheOneWithTheLeastIsTaken) {
  UnequalStudy study({200, 50});
  study.foreseen_bytes = [](const Candidate&) { return 10.0; };
  std::vector<int> workers;
  study.pool.on_start = [&](int worker, TrialId) { workers.push_back(worker); };
  study.budget = "2trials";
  ASSERT_TRUE(study.run());
  EXPECT_EQ(workers, (std::vector<int>{1, 0}));
}

}  // namespace
}  // namespace detol

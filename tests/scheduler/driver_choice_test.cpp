// Algorithm choices that workers timed: what is recorded, and what is broadcast to the workers.

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;

message::Timed timed(int worker, std::string key, std::string algorithm) {
  return {.worker = worker,
          .choices = {{std::move(key), std::move(algorithm), {{"a", 0.25}, {"b", 0.5}}}}};
}

TEST(Choosing, IsRecordedBeforeTheWorkersHearOfIt) {
  FakeStudy study;
  study.pool.extra = {timed(0, "conv", "direct")};
  std::size_t heard_before = 0;  // broadcasts before the choice was recorded
  study.ledger.on_append = [&] {
    for (const Event& event : study.ledger.transactions.back()) {
      if (std::holds_alternative<event::AlgorithmChosen>(event))
        heard_before += study.pool.heard.size();
    }
  };
  ASSERT_TRUE(study.run());
  const auto recorded = events_of<event::AlgorithmChosen>(study.ledger);
  ASSERT_EQ(recorded.size(), 1u);
  EXPECT_EQ(recorded[0].key, "conv");
  EXPECT_EQ(recorded[0].algorithm, "direct");
  EXPECT_EQ(recorded[0].seconds.size(), 2u);
  EXPECT_EQ(heard_before, 0u);
  ASSERT_EQ(study.pool.heard.size(), 1u);
  EXPECT_EQ(study.pool.heard[0].algorithms.at("conv"), "direct");
}

TEST(Choosing, WhatWasRecordedFirstIsTheAnswerToAll) {
  FakeStudy study(2);
  study.pool.extra = {timed(0, "conv", "direct"), timed(1, "conv", "winograd")};
  int waits = 0;
  study.pool.on_wait = [&] {
    if (++waits == 5) study.pool.extra = {timed(1, "conv", "winograd")};
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(events_of<event::AlgorithmChosen>(study.ledger).size(), 1u);
  ASSERT_EQ(study.pool.heard.size(), 2u);  // a repeat is answered, too
  for (const AlgorithmChoices& heard : study.pool.heard)
    EXPECT_EQ(heard.algorithms.at("conv"), "direct");
}

TEST(Choosing, AResumedMasterTellsItsWorkersWhatWasRecordedAndAnswersByIt) {
  FakeStudy study;
  study.pool.extra = {timed(0, "conv", "direct")};
  ASSERT_TRUE(study.run());
  FakeStudy resumed(1, study.ledger);
  resumed.budget = "8trials";
  resumed.pool.extra = {timed(0, "conv", "winograd")};
  ASSERT_TRUE(resumed.run());
  EXPECT_EQ(events_of<event::AlgorithmChosen>(resumed.ledger).size(), 1u);
  ASSERT_EQ(resumed.pool.heard.size(), 2u);
  for (const AlgorithmChoices& heard : resumed.pool.heard)
    EXPECT_EQ(heard.algorithms.at("conv"), "direct");
}

TEST(Choosing, ThatFindsTheDiskFullIsAnsweredWhenThereIsSpace) {
  FakeStudy study;
  study.pool.extra = {timed(0, "conv", "direct")};
  study.pool.on_wait = [&] {
    if (study.pool.waits++ == 0) study.ledger.full = 3;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(events_of<event::AlgorithmChosen>(study.ledger).size(), 1u);
  EXPECT_EQ(study.pool.heard.size(), 1u);
}

}  // namespace
}  // namespace detol

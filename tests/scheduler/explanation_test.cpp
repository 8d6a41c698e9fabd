// Why a trial was proposed, from the events of its study.

#include "scheduler/explanation.h"

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::FakeStudy;

std::vector<Event> run(FakeStudy& study, const char* algorithm) {
  study.config.algorithm.name = algorithm;
  study.budget = "20trials";
  EXPECT_TRUE(study.run());
  return study.ledger.events(1).value();
}

// Returns the events up to the proposal of the trial.
std::span<const Event> until_asked(std::span<const Event> events, TrialId trial) {
  std::size_t i = 0;
  for (; i < events.size(); ++i) {
    const auto* asked = std::get_if<event::Asked>(&events[i]);
    if (asked != nullptr && asked->trial == trial) break;
  }
  return events.first(i + 1);
}

TEST(WhyProposed, SaysWhatTheModelPredictedAndKnew) {
  FakeStudy study;
  const std::vector<Event> events = run(study, "gp");
  const WhyProposed why = why_proposed(study.config, events, 19).value();
  EXPECT_EQ(why.told, 19);
  EXPECT_EQ(why.pending, 0);
  EXPECT_EQ(why.proposer, study.trial(19).trial.proposer);
  ASSERT_TRUE(why.explanation);
  ASSERT_EQ(why.explanation->predictions.size(), 1u);
  const auto& [value, deviation] = why.explanation->predictions.front();
  EXPECT_NEAR(value, study.trial(19).values.front(), 0.05);
  EXPECT_GE(deviation, 0);
}

TEST(WhyProposed, KnowsNothingThatCameAfterTheProposal) {
  FakeStudy study(3);
  const std::vector<Event> events = run(study, "gp");
  const WhyProposed all = why_proposed(study.config, events, 15).value();
  const WhyProposed then = why_proposed(study.config, until_asked(events, 15), 15).value();
  EXPECT_EQ(all.told, then.told);
  EXPECT_EQ(all.pending, 2);
  ASSERT_TRUE(all.explanation && then.explanation);
  EXPECT_EQ(all.explanation->acquisition, then.explanation->acquisition);
  EXPECT_EQ(all.explanation->predictions.front().value,
            then.explanation->predictions.front().value);
}

TEST(WhyProposed, LeavesOutWhatTheSearcherHadNotHeardYet) {
  FakeStudy study;
  std::vector<Event> events = run(study, "gp");
  for (Event& event : events) {
    if (auto* asked = std::get_if<event::Asked>(&event)) asked->behind = asked->trial == 15 ? 2 : 0;
  }
  const WhyProposed why = why_proposed(study.config, events, 15).value();
  EXPECT_EQ(why.told, 13);
  EXPECT_EQ(why.pending, 2);
}

TEST(WhyProposed, AnAlgorithmWithoutAModelExplainsNothing) {
  FakeStudy study;
  const std::vector<Event> events = run(study, "random");
  const WhyProposed why = why_proposed(study.config, events, 3).value();
  EXPECT_EQ(why.proposer, "random");
  EXPECT_FALSE(why.explanation);
}

TEST(WhyProposed, RefusesATrialThatWasNotAsked) {
  FakeStudy study;
  const std::vector<Event> events = run(study, "random");
  const auto why = why_proposed(study.config, events, 99);
  ASSERT_FALSE(why);
  EXPECT_EQ(why.error().code, ErrorCode::kEmpty);
}

}  // namespace
}  // namespace detol

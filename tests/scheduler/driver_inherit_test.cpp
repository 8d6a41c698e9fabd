// Trials that begin with the weights of others.

#include <algorithm>

#include <gtest/gtest.h>

#include "scheduler/driver.h"
#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;

// Each trial but the first begins with the weights of the one before it.
void inherit_from_the_one_before(FakeStudy& study) {
  study.inherit = [](const Trial& trial, const Candidate&,
                     const StudyState& state) -> std::optional<ParentWeights> {
    if (trial.id == 0) return std::nullopt;
    return ParentWeights{trial.id - 1, state.find(trial.id - 1)->epochs};
  };
}

TEST(DriverInherits, TheWeightsOfATrialThatIsRecordedBefore) {
  FakeStudy study;
  study.identify = [](const Candidate&) { return "00000000000000ab"; };
  inherit_from_the_one_before(study);
  ASSERT_TRUE(study.run());
  const auto asked = events_of<event::Asked>(study.ledger);
  ASSERT_EQ(asked.size(), 6u);
  EXPECT_EQ(asked[0].inherits, std::nullopt);
  EXPECT_EQ(asked[0].identity, "00000000000000ab");
  EXPECT_EQ(asked[1].inherits, (ParentWeights{0, 4}));
  EXPECT_EQ(asked[1].identity, "");  // no other study gets the same numbers
  const message::Train& order = study.pool.started.at(3);
  EXPECT_EQ(order.parent, 2u);
  EXPECT_EQ(order.parent_epochs, 4);
  EXPECT_EQ(order.parent_params, study.trial(2).trial.genome.assignments());
  EXPECT_TRUE(study.pool.started.at(0).parent_params.empty());
}

TEST(DriverInherits, TheSameAfterAReplayHoweverItWouldChooseNow) {
  FakeStudy study;
  inherit_from_the_one_before(study);
  ASSERT_TRUE(study.run());
  MemoryLedger until_third;
  for (const auto& transaction : study.ledger.transactions) {
    until_third.transactions.push_back(transaction);
    const auto starts_third = [](const Event& event) {
      const auto* started = std::get_if<event::Started>(&event);
      return started != nullptr && started->trial == 3;
    };
    if (std::ranges::any_of(transaction, starts_third)) break;
  }
  FakeStudy resumed(1, until_third);
  resumed.inherit = [](const Trial&, const Candidate&, const StudyState&) {
    return std::optional<ParentWeights>();
  };
  ASSERT_TRUE(resumed.run());
  const message::Train& again = resumed.pool.started.front();
  ASSERT_EQ(again.trial, 3u);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(again.parent, 2u);
  EXPECT_EQ(again.parent_params, study.trial(2).trial.genome.assignments());
  EXPECT_TRUE(resumed.pool.started.back().parent_params.empty());
}

}  // namespace
}  // namespace detol

// When workers get their next orders.

#include <gtest/gtest.h>

#include "scheduler/driver.h"
#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::Mishap;

// The searcher hears the outcome first: the next trial is asked for after it, in the same
// transaction.
TEST(Driver, AnswersTheLastReportOfATrialAndOrdersTheNextOneInOneTransaction) {
  FakeStudy study;
  ASSERT_TRUE(study.run());
  int followed = 0;
  for (const std::vector<Event>& transaction : study.ledger.transactions) {
    std::string order;
    for (const Event& event : transaction) {
      if (std::holds_alternative<event::Told>(event)) order += "told ";
      if (std::holds_alternative<event::Asked>(event)) order += "asked ";
      if (std::holds_alternative<event::Started>(event)) order += "started ";
    }
    if (order == "told asked started ") ++followed;
  }
  EXPECT_EQ(followed, 5) << "of the 6 trials";
}

TEST(Driver, AWorkerWhoseTrialTheTrainerEndedHasTheNextOneInTheSameTransaction) {
  FakeStudy study;
  study.budget = "2trials";
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial == 0 ? Mishap::kDiverge : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  const auto& second = study.ledger.transactions.at(1);
  EXPECT_TRUE(std::ranges::any_of(
      second, [](const Event& e) { return std::holds_alternative<event::Told>(e); }));
  EXPECT_TRUE(std::ranges::any_of(
      second, [](const Event& e) { return std::holds_alternative<event::Started>(e); }));
}

TEST(Driver, LeavesNoWorkerFreeWhileThereIsWork) {
  FakeStudy study(16);
  study.epochs = 1;
  study.budget = "200trials";
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial % 7 == 3 ? Mishap::kDiverge : Mishap::kNone;
  };
  study.pool.on_wait = [&] {
    const bool is_all_placed = study.driver->state().next_id() >= 200;
    EXPECT_TRUE(is_all_placed || study.pool.free().empty());
  };
  ASSERT_TRUE(study.run());
}

TEST(Driver, CommitsTwiceATrialOfOneEpoch) {
  for (int workers : {1, 16}) {
    FakeStudy study(workers);
    study.epochs = 1;
    study.budget = "200trials";
    ASSERT_TRUE(study.run());
    // Per trial: its report with its outcome, the next trial. Every five seconds: the time used.
    const auto others = static_cast<std::size_t>(study.clock.now / 5) + 3;
    EXPECT_LE(study.ledger.transactions.size(), 2 * 200 + others);
  }
}

}  // namespace
}  // namespace detol

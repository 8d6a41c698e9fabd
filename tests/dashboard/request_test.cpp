// What a request to the dashboard must be.

#include "dashboard/request.h"

#include <gtest/gtest.h>

namespace detol::dashboard {
namespace {

TEST(RequestPage, TakesWhatIsGivenAndDefaultsForTheRest) {
  const TrialQuery usual = trial_query_of({});
  EXPECT_EQ(usual.sort, "trial");
  EXPECT_TRUE(usual.is_descending);
  EXPECT_EQ(usual.page, 0U);
  const TrialQuery asked =
      trial_query_of({{"sort", "value0"}, {"down", "0"}, {"words", "oom"}, {"page", "7"}});
  EXPECT_EQ(asked.sort, "value0");
  EXPECT_FALSE(asked.is_descending);
  EXPECT_EQ(asked.words, "oom");
  EXPECT_EQ(asked.page, 7U);
  EXPECT_EQ(trial_query_of({{"page", "-1"}}).page, 0U);
  EXPECT_EQ(trial_query_of({{"page", "99999999999999999999"}}).page, 0U);
  EXPECT_LE(trial_query_of({{"words", std::string(5000, 'x')}}).words.size(), 200U);
}

TEST(RequestAction, IsWhatAPersonMayAskFor) {
  const Action note =
      action_of(R"({"action":"note","study":"s","trial":3,"note":"<b>good</b>"})").value();
  EXPECT_EQ(note.kind, Action::kNote);
  EXPECT_EQ(note.study, "s");
  EXPECT_EQ(note.trial, 3U);
  EXPECT_EQ(note.note, "<b>good</b>");
  EXPECT_EQ(action_of(R"({"action":"stop","study":"s"})").value().kind, Action::kStop);
  const Action prune = action_of(R"({"action":"prune","study":"s","trial":7})").value();
  EXPECT_EQ(prune.kind, Action::kPrune);
  EXPECT_EQ(prune.trial, 7U);
  EXPECT_EQ(action_of(R"({"action":"retry","study":"s","trial":7})").value().kind, Action::kRetry);
  for (const char* more : {"1h", "+1h"}) {
    const Action budget =
        action_of(R"({"action":"budget","study":"s","more":")" + std::string(more) + "\"}").value();
    EXPECT_EQ(budget.kind, Action::kBudget);
    EXPECT_EQ(budget.more, "+1h");
  }
  for (const char* wrong :
       {"", "[]", "{", R"({"action":"stop"})", R"({"action":"prune","study":"s"})",
        R"({"action":"retry","study":"s","trial":-1})", R"({"action":"prune","trial":1})",
        R"({"action":"budget","study":"s"})", R"({"action":"budget","study":"s","more":1})",
        R"({"action":"budget","study":"s","more":""})", R"({"action":"delete","study":"s"})",
        R"({"action":"note","study":"s"})", R"({"action":"note","study":"s","note":"","trial":-1})",
        R"({"action":"note","study":"s","note":"","trial":"1"})", R"({"action":"stop","study":5})"})
    EXPECT_FALSE(action_of(wrong)) << wrong;
  const std::string deep(200'000, '[');
  EXPECT_FALSE(action_of(deep));
  EXPECT_FALSE(action_of(R"({"action":"stop","study":)" + deep));
}

}  // namespace
}  // namespace detol::dashboard

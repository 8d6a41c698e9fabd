// What a request to the dashboard must be.

#include "dashboard/request.h"

#include <gtest/gtest.h>

namespace detol::dashboard {
namespace {

const ServedAt kHere{"127.0.0.1", 8090};
const ServedAt kNamed{"node7", 8090};

TEST(RequestHost, IsThisMachineOrTheHostThatWasAskedForWithThePort) {
  for (const char* ours : {"127.0.0.1:8090", "localhost:8090", "LocalHost:8090"})
    EXPECT_TRUE(is_our_host(ours, kHere)) << ours;
  EXPECT_TRUE(is_our_host("node7:8090", kNamed));
  EXPECT_TRUE(is_our_host("[::1]:8090", {"::1", 8090}));
  for (const char* foreign :
       {"", "127.0.0.1", "localhost:8091", "evil.example:8090", "127.0.0.1:8090.evil.example",
        "localhost:8090@evil", "127.0.0.1.evil:8090", "node7:8090", " localhost:8090", "x:8090"})
    EXPECT_FALSE(is_our_host(foreign, kHere)) << foreign;
}

TEST(RequestOrigin, IsAPageOfTheDashboardItself) {
  EXPECT_TRUE(is_our_origin("http://localhost:8090", kHere));
  for (const char* foreign :
       {"", "null", "https://localhost:8090", "http://localhost", "http://evil.example:8090",
        "http://localhost:8090/", "localhost:8090"})
    EXPECT_FALSE(is_our_origin(foreign, kHere)) << foreign;
}

TEST(RequestToken, IsOfEitherHeaderAndMustBeEqual) {
  EXPECT_EQ(token_in("abc", "Bearer xyz"), "abc");
  EXPECT_EQ(token_in("", "Bearer xyz"), "xyz");
  EXPECT_EQ(token_in("", "Basic xyz"), "");
  EXPECT_TRUE(is_same_token("secret", "secret"));
  for (const char* wrong : {"", "secre", "secreT", "secretsecret", "Secret", "secret "})
    EXPECT_FALSE(is_same_token(wrong, "secret")) << wrong;
}

TEST(RequestToken, ANewOneHas32BytesAndDiffersFromTheLast) {
  const std::string token = new_token().value();
  EXPECT_EQ(token.size(), 64U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, new_token().value());
}

TEST(RequestLoopback, IsThisMachinesOwnDevice) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "localhost", "::1"})
    EXPECT_TRUE(is_loopback(own)) << own;
  for (const char* open : {"0.0.0.0", "::", "node7", "127.0.0.1.evil.example", "10.0.0.1", ""})
    EXPECT_FALSE(is_loopback(open)) << open;
}

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
}

}  // namespace
}  // namespace detol::dashboard

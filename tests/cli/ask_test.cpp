// `ask` and `tell` as single calls, each of which opens the study.

#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

class AskAndTell : public testing_support::CommandOnBase {
 protected:
  Json asked(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"ask",          "s",        "--param",
                                      "x=float(0,1)", "--metric", "loss:minimize"};
    words.insert(words.end(), more.begin(), more.end());
    const Answer answer = run(std::move(words));
    EXPECT_TRUE(answer.code) << answer.code.error().message;
    return Json::parse(answer.out, nullptr, false);
  }
  Answer tell(const std::string& trial, std::vector<std::string> what) const {
    what.insert(what.begin(), {"tell", "s", trial});
    return run(std::move(what));
  }
  Json trial(const std::string& id) const { return json({"trial", "s", id}); }
};

TEST_F(AskAndTell, GiveATrialOrAsManyAsAreWanted) {
  EXPECT_EQ(asked()["trial"], 0);
  const Json list = asked({"-n", "3"});
  ASSERT_EQ(list.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(list[i]["trial"], i + 1);
  EXPECT_EQ(asked({"--params", R"({"x": 0.25})"})["params"]["x"], 0.25);
}

TEST_F(AskAndTell, EndATrialAsIsSaid) {
  asked({"-n", "7"});
  ASSERT_TRUE(tell("0", {"--value", "0.5"}).code);
  EXPECT_EQ(trial("0")["state"], "COMPLETE");
  EXPECT_EQ(trial("0")["value"], 0.5);
  ASSERT_TRUE(tell("1", {"--value=-inf"}).code);
  EXPECT_EQ(trial("1")["failure"], "diverged");
  ASSERT_TRUE(tell("2", {"--failed", "burnt"}).code);
  EXPECT_EQ(trial("2")["state"], "FAIL");
  EXPECT_EQ(trial("2")["reason"], "burnt");
  EXPECT_FALSE(tell("3", {"--pruned"}).code);  // it has reported nothing
  ASSERT_TRUE(tell("3", {"--value", "0.75", "--step", "1"}).code);
  ASSERT_TRUE(tell("3", {"--pruned"}).code);
  EXPECT_EQ(trial("3")["state"], "PRUNED");
  EXPECT_EQ(trial("3")["value"], 0.75);
  ASSERT_TRUE(tell("4", {"--release"}).code);
  EXPECT_EQ(trial("4")["state"], "WAITING");
  ASSERT_TRUE(tell("5", {"--values", R"({"loss": 0.25, "size": 3})"}).code);
  EXPECT_EQ(trial("5")["values"], (Json{{"loss", 0.25}, {"size", 3}}));
  EXPECT_FALSE(tell("6", {"--value", "1", "--failed", "twice"}).code);
  EXPECT_FALSE(tell("6", {"--value", "one"}).code);
  EXPECT_EQ(json({"best", "s"})["trial"], 5);
}

TEST_F(AskAndTell, ChangeNothingOfATrialThatHasEnded) {
  asked();
  ASSERT_TRUE(tell("0", {"--value", "0.5"}).code);
  EXPECT_TRUE(tell("0", {"--value", "0.5"}).code);
  const Answer other = tell("0", {"--value", "0.25"});
  ASSERT_FALSE(other.code);
  EXPECT_EQ(other.code.error().code, ErrorCode::kEmpty);
  EXPECT_EQ(trial("0")["value"], 0.5);
}

}  // namespace
}  // namespace detol

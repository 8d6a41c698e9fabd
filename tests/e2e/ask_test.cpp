// Asking and telling from the command line: whoever runs the study, and whatever is killed.

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/ask_server.h"
#include "tests/e2e/searched_study.h"
#include "tests/support/idx_writer.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

class AskProgram : public testing::Test {
 protected:
  AskProgram() { std::signal(SIGPIPE, SIG_IGN); }

  Ran detol(const Words& words) const { return run(folder_.path(), words); }
  static Words space(const std::string& study, const Words& more = {}) {
    Words words = {study,           "--param",     "x=float(0,1)", "--metric",
                   "loss:minimize", "--algorithm", "random"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Ran ask(const std::string& study, const Words& more = {}) const {
    Words words = space(study, more);
    words.insert(words.begin(), "ask");
    return detol(words);
  }
  std::map<std::string, int> states(const std::string& study) const {
    std::map<std::string, int> counts;
    const Json rows =
        json_of(detol({"query", fmt::format("SELECT state FROM v_trials WHERE study = '{}'", study),
                       "-f", "json"}));
    for (const Json& row : rows) ++counts[row.at("state")];
    return counts;
  }

  TempFolder folder_;
};

TEST_F(AskProgram, BeginsAStudyFromFlagsAndKeepsWhatItIsTold) {
  const Json first = json_of(ask("bread"));
  EXPECT_EQ(first.at("trial"), 0);
  EXPECT_EQ(json_of(detol({"tell", "bread", "0", "--value", "0.5"})).at("state"), "COMPLETE");
  const Json more = json_of(detol({"ask", "bread", "-n", "3"}));
  ASSERT_EQ(more.size(), 3u);
  EXPECT_EQ(more[2].at("trial"), 3);
  EXPECT_EQ(json_of(detol({"tell", "bread", "1", "--step", "1", "--value", "0.7"})),
            Json({{"stop", false}}));
  detol({"tell", "bread", "1", "--pruned"});
  detol({"tell", "bread", "2", "--failed", "burnt \xfc"});
  EXPECT_EQ(states("bread"), (std::map<std::string, int>{
                                 {"COMPLETE", 1}, {"PRUNED", 1}, {"FAIL", 1}, {"RUNNING", 1}}));
  const Json best = json_of(detol({"best", "bread", "-f", "json"}));
  EXPECT_EQ(best.at("values").at("loss"), 0.5);
  const Ran log = detol({"trial", "bread", "2", "-f", "json"});
  EXPECT_NE(log.out.find("burnt \xef\xbf\xbd"), std::string::npos) << log.out;

  EXPECT_EQ(detol({"tell", "bread", "0", "--value", "0.5"}).code, 0) << "it is known";
  const Ran other = detol({"tell", "bread", "0", "--value", "9"});
  EXPECT_EQ(other.code, 6);
  EXPECT_NE(other.out.find(R"("ignored":true)"), std::string::npos) << other.out;
  EXPECT_NE(other.err.find("trial 0 ended COMPLETE before"), std::string::npos) << other.err;
}

TEST_F(AskProgram, SaysWhatIsWrongInOneLine) {
  ASSERT_EQ(ask("s", {"--budget", "2trials"}).code, 0);
  struct Case {
    Words words;
    int code;
    std::string_view says;
  };
  const Case cases[] = {
      {{"ask", "other"}, 4, "other"},
      {{"ask"}, 2, "name the study"},
      {{"ask", "t", "--param", "x=float(0,1)"}, 2, "--metric is missing"},
      {{"ask", "s", "--param", "x=float(0,0.5)", "--metric", "loss:minimize", "--algorithm",
        "random"},
       3,
       "not the one this study was begun with"},
      {{"ask", "s", "--params", "{\"x\": 7}"}, 2, "0 to 1"},
      {{"ask", "s", "--params", "x"}, 2, "must be a JSON object"},
      {{"tell", "s", "7", "--value", "1"}, 2, "study s has no trial 7"},
      {{"tell", "s", "0"}, 2, "say one of --value"},
      {{"tell", "s", "0", "--value", "much"}, 2, "'much' is not a number"},
      {{"tell", "s", "0", "--value", "1", "--failed", "x"}, 2, "say one of"},
      {{"tell", "s", "0", "--values", "{\"lost\": 1}"}, 2, "the metric loss is missing"},
      {{"tell", "s", "0", "--pruned"}, 2, "has reported nothing yet"},
      {{"resume", "s"}, 2, "evaluated by whoever asks for them"},
  };
  for (const Case& one : cases) {
    const Ran ran = detol(one.words);
    EXPECT_EQ(ran.code, one.code) << fmt::format("{}", fmt::join(one.words, " ")) << ran.err;
    EXPECT_NE(ran.err.find(one.says), std::string::npos) << ran.err;
  }
  ASSERT_EQ(detol({"ask", "s"}).code, 0);
  const Ran over = detol({"ask", "s"});
  EXPECT_EQ(over.code, 6);
  EXPECT_NE(over.err.find("the budget is used up"), std::string::npos);
  EXPECT_EQ(json_of(detol({"ask", "s", "--budget", "+1trials"})).at("trial"), 2);
}

TEST_F(AskProgram, ManyProcessesAtOnceGetDifferentTrialsAndAllValuesAreKept) {
  constexpr int kProcesses = 8;
  std::vector<std::unique_ptr<Program>> programs;
  Words words = space("s");
  words.insert(words.begin(), "ask");
  for (int i = 0; i < kProcesses; ++i)
    programs.push_back(std::make_unique<Program>(folder_.path(), words));
  for (const auto& program : programs) EXPECT_EQ(program->wait().code, 0);
  ASSERT_EQ(states("s"), (std::map<std::string, int>{{"RUNNING", kProcesses}}));
  programs.clear();
  for (int trial = 0; trial < kProcesses; ++trial)
    programs.push_back(std::make_unique<Program>(
        folder_.path(), Words{"tell", "s", std::to_string(trial), "--value", "1"}));
  for (const auto& program : programs) EXPECT_EQ(program->wait().code, 0);
  EXPECT_EQ(states("s"), (std::map<std::string, int>{{"COMPLETE", kProcesses}}));
}

TEST_F(AskProgram, AServerAnswersLinesAndOtherProcesses) {
  AskServer server(folder_.path(), space("s"));
  EXPECT_EQ(server.call({{"ask", 1}})->at("trials").at(0).at("trial"), 0);
  EXPECT_EQ(json_of(detol({"ask", "s"})).at("trial"), 1);
  EXPECT_EQ(json_of(detol({"tell", "s", "1", "--value", "2"})).at("state"), "COMPLETE");
  AskServer other(folder_.path(), {"s"});
  EXPECT_EQ(other.call({{"ask", 1}})->at("trials").at(0).at("trial"), 2);
  EXPECT_TRUE(server.call("what?")->contains("error"));
  EXPECT_EQ(server.call({{"study", true}})->at("trials"), 3);
  EXPECT_EQ(server.end(), 0);
  EXPECT_EQ(other.call({{"tell", 2}, {"values", 3}}), Json({{"state", "COMPLETE"}}))
      << "the other one goes on with the study";
  EXPECT_EQ(other.call({{"ask", 1}})->at("trials").at(0).at("trial"), 0)
      << "what the first one left comes again";
}

TEST_F(AskProgram, AnotherServerGoesOnWhenOneIsKilled) {
  AskServer first(folder_.path(), space("s"));
  ASSERT_TRUE(first.call({{"ask", 1}}));
  AskServer second(folder_.path(), space("s"));
  ASSERT_EQ(second.call({{"ask", 1}})->at("trials").at(0).at("trial"), 1);
  first.kill();
  EXPECT_EQ(second.call({{"tell", 1}, {"attempt", 1}, {"values", 1}}),
            Json({{"state", "COMPLETE"}}));
  const Json again = second.call({{"ask", 1}})->at("trials").at(0);
  EXPECT_EQ(again.at("trial"), 0);
  EXPECT_EQ(again.at("attempt"), 2);
  second.kill();
  EXPECT_EQ(json_of(detol({"ask", "s"})).at("trial"), 0);
  EXPECT_EQ(states("s"), (std::map<std::string, int>{{"COMPLETE", 1}, {"RUNNING", 1}}));
}

TEST_F(AskProgram, AServerThatEndsReleasesNoTrialThatAnotherHasMeanwhile) {
  AskServer first(folder_.path(), space("s"));
  ASSERT_TRUE(first.call({{"study", true}}));
  AskServer second(folder_.path(), {"s"});
  ASSERT_EQ(second.call({{"ask", 1}})->at("trials").at(0).at("trial"), 0);
  ASSERT_EQ(json_of(detol({"tell", "s", "0", "--release"})).at("state"), "WAITING");
  ASSERT_EQ(first.call({{"ask", 1}})->at("trials").at(0).at("attempt"), 2);
  EXPECT_TRUE(second.call({{"tell", 0}, {"attempt", 1}, {"values", 1}})->contains("error"));
  EXPECT_EQ(second.end(), 0);
  EXPECT_EQ(first.call({{"tell", 0}, {"attempt", 2}, {"values", 1}}),
            Json({{"state", "COMPLETE"}}));
  const Ran other = ask("s", {"--budget", "+7trials"});
  EXPECT_NE(other.err.find("its budget stays without a limit"), std::string::npos) << other.err;
}

TEST_F(AskProgram, ARunningSearchGivesTrialsToWhoeverAsks) {
  Program search(folder_.path(),
                 {"tune", "--study", "s", "--param", "x=float(0,1)", "--metric", "loss:minimize",
                  "--budget", "4trials", "--algorithm", "random", "-j", "1", "--", "sh", "-c",
                  "echo running >&2; while [ ! -e go ]; do sleep 0.05; done; "
                  "echo \"{\\\"loss\\\": 1}\" >> $DETOL_REPORT"});
  while (!std::filesystem::exists(folder_.path() / "detol.db.d/s/0/output.log")) ::usleep(10'000);
  const Json mine = json_of(detol({"ask", "s"}));
  EXPECT_EQ(mine.at("trial"), 1);
  EXPECT_EQ(json_of(detol({"tell", "s", "1", "--value", "0.25"})).at("state"), "COMPLETE");
  const Json left = json_of(detol({"ask", "s"}));
  EXPECT_EQ(left.at("trial"), 2);
  write_bytes(folder_.path() / "go", "");
  EXPECT_EQ(search.wait().code, 0) << "it does not wait for who has its trials";
  EXPECT_EQ(json_of(detol({"best", "s", "-f", "json"})).at("trial"), 1);
  EXPECT_EQ(json_of(detol({"tell", "s", "2", "--value", "0.125"})).at("state"), "COMPLETE");
  EXPECT_EQ(states("s"), (std::map<std::string, int>{{"COMPLETE", 4}}));
}

TEST_F(AskProgram, AWiderSpaceGoesOnAndANarrowerIsRefusedByKey) {
  const auto with = [&](const std::string& x, const std::string& opt) {
    return detol({"ask", "s", "--param", "x=float(" + x + ")", "--param", "opt=choice(" + opt + ")",
                  "--metric", "loss:minimize", "--algorithm", "random", "-n", "20"});
  };
  ASSERT_EQ(with("0,1", "a,b").code, 0);
  const Ran wider = with("0,50", "a,b,c");
  ASSERT_EQ(wider.code, 0) << wider.err;
  EXPECT_NE(wider.err.find("study s: parameters.x.high: 1 -> 50"), std::string::npos) << wider.err;
  bool has_more = false, has_new_choice = false;
  for (const Json& trial : Json::parse(wider.out)) {
    has_more = has_more || trial.at("params").at("x") > 1;
    has_new_choice = has_new_choice || trial.at("params").at("opt") == "c";
  }
  EXPECT_TRUE(has_more);
  EXPECT_TRUE(has_new_choice);
  const Ran narrower = with("0,1", "a,b,c");
  EXPECT_EQ(narrower.code, 3);
  EXPECT_NE(narrower.err.find("x had the range 0 to 50, now 0 to 1"), std::string::npos)
      << narrower.err;
  EXPECT_EQ(detol({"ask", "s", "-n", "20"}).code, 0) << "the last space is in force";
  EXPECT_EQ(detol({"db", "check"}).code, 0);
  EXPECT_EQ(detol({"importance", "s"}).code, 6) << "every trial is read, and none is complete";
}

}  // namespace
}  // namespace detol::testing_support

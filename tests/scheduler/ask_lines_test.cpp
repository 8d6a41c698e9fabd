// Calls as lines of JSON, and whose trials outlive the process that gave them.

#include "scheduler/asking/ask_lines.h"

#include <fmt/format.h>

#include <future>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "core/host.h"
#include "knowledge/ledger.h"
#include "scheduler/asking/study_service.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using nlohmann::json;
using testing_support::TempFolder;

constexpr std::string_view kSpace = R"(
version: 1
study: s
seed: 3
external: {}
parameters:
  x: {type: float, low: 0, high: 1}
  opt: {type: categorical, choices: [sgd, adam]}
  batch: 32
objectives: [{metric: loss, direction: minimize}]
search: {algorithm: random}
)";

class AskLines : public ::testing::Test {
 protected:
  AskLines() { open(); }

  void open(std::vector<TrialId> own = {}, const std::string& budget = "",
            std::string_view space = kSpace) {
    service_.reset();
    auto opened = StudyService::open(load_study_config(space, "space").value(),
                                     {.storage = folder_.path() / "detol.db",
                                      .budget = parse_budget_change(budget).value(),
                                      .own = std::move(own)});
    ASSERT_TRUE(opened) << opened.error().message;
    service_ = *std::move(opened);
  }

  json ask(const std::string& line, const std::string& caller = std::string(kNoCaller)) {
    std::promise<std::string> answer;
    call(service_->callers(), service_->config(), line, caller,
         [&](std::string text) { answer.set_value(std::move(text)); });
    service_->look();
    return json::parse(answer.get_future().get());
  }

  // The state of a trial, by what a tell says of one that has ended, or cannot be told.
  std::string error_of(const std::string& line) { return ask(line).value("error", "none"); }

  TempFolder folder_;
  std::unique_ptr<StudyService> service_;
};

TEST_F(AskLines, AnAskGivesAllThatAnEvaluationNeeds) {
  const json trial = ask(R"({"ask": 1})").at("trials").at(0);
  EXPECT_EQ(trial.at("trial"), 0);
  EXPECT_EQ(trial.at("attempt"), 1);
  EXPECT_EQ(trial.at("steps"), 0);
  EXPECT_EQ(trial.at("folder"), (folder_.path() / "detol.db.d/s/0").string());
  EXPECT_LT(trial.at("seed"), std::int64_t{1} << 31);
  EXPECT_EQ(trial.at("params").at("batch"), 32) << "single values belong to every candidate";
  EXPECT_TRUE(trial.at("params").at("x").is_number_float());
}

TEST_F(AskLines, ValuesOfAListAreInTheOrderOfTheObjectives) {
  std::string space(kSpace);
  space.replace(space.find("study: s"), 8, "study: t");
  const std::string_view one = "{metric: loss, direction: minimize}";
  space.insert(space.find(one) + one.size(), ", {metric: size, direction: minimize}");
  open({}, "", space);
  ask(R"({"ask": 1})");
  ask(R"({"tell": 0, "values": [0.5, 7]})");
  EXPECT_EQ(ask(R"({"best": true})").at("best").at("values"), (json{{"loss", 0.5}, {"size", 7}}));
}

TEST_F(AskLines, ATrialOfANetworkHasItsLayersAndItsCosts) {
  std::string space(kSpace);
  const std::string_view external = "external: {}",
                         objective = "{metric: loss, direction: minimize}";
  space.replace(space.find(external), external.size(),
                "external: {input: [3, 8, 8], outputs: 4}\n"
                "architecture: {type: chain, stages: [{depth: {type: int, low: 1, high: 3}, block: "
                "{op: conv, kernel: 3}}]}");
  space.replace(space.find(objective), objective.size(),
                std::string(objective) + ", {metric: params, direction: minimize}");
  space.replace(space.find("study: s"), 8, "study: n");
  open({}, "", space);
  const json trial = ask(R"({"ask": 1})").at("trials").at(0);
  const json& layers = trial.at("architecture");
  EXPECT_EQ(
      layers.front(),
      json({{"name", "input"}, {"op", "input"}, {"inputs", json::array()}, {"shape", {3, 8, 8}}}));
  EXPECT_EQ(layers.back().at("channels"), 4);
  EXPECT_FALSE(trial.at("params").contains("architecture.stages[0].depth"));
  EXPECT_EQ(ask(R"({"report": 0, "step": 1, "values": 0.7})"), json({{"stop", false}}));
  EXPECT_EQ(ask(R"({"tell": 0, "values": 0.5})"), json({{"state", "COMPLETE"}}));
  const json values = ask(R"({"best": true})").at("best").at("values");
  EXPECT_EQ(values.at("loss"), 0.5);
  EXPECT_GT(values.at("params"), 100) << "nobody told it";
}

TEST_F(AskLines, EveryFormOfAValueIsTheSame) {
  ask(R"({"ask": 4})");
  for (const char* line : {R"({"tell": 0, "values": 0.5})", R"({"tell": 1, "values": [0.5]})",
                           R"({"tell": 2, "values": {"loss": 0.5, "size": 7}})"})
    EXPECT_EQ(ask(line), json({{"state", "COMPLETE"}})) << line;
  EXPECT_EQ(ask(R"({"tell": 3, "values": "NaN"})").at("state"), "FAIL");
  EXPECT_EQ(ask(R"({"best": true})").at("best").at("values"), json({{"loss", 0.5}}));
}

TEST_F(AskLines, AReportThatKeepsToTheConstraintsIsBetterThanOneThatDoesNot) {
  std::string space(kSpace);
  space.replace(space.find("study: s"), 8, "study: c");
  open({}, "", space + "constraints: [{metric: size, max: 5}]\n");
  ask(R"({"ask": 2})");
  ask(R"({"report": 0, "step": 1, "values": {"loss": 0.1, "size": 9}})");
  ask(R"({"report": 0, "step": 2, "values": {"loss": 0.5, "size": 3}})");
  ask(R"({"report": 0, "step": 3, "values": {"loss": 0.2, "size": 9}})");
  ask(R"({"tell": 0, "pruned": true})");
  EXPECT_EQ(ask(R"({"best": true})").at("best").at("values").at("loss"), 0.5);
  EXPECT_EQ(ask(R"({"report": 1, "values": 0.1})").at("error"), "the metric size is missing");
}

TEST_F(AskLines, ATrialEndsInEachWayThatItCan) {
  ask(R"({"ask": 4})");
  EXPECT_EQ(ask(R"({"tell": 0, "failed": "no luck"})").at("state"), "FAIL");
  EXPECT_EQ(ask(R"({"report": 1, "step": 2, "values": 0.4})"), json({{"stop", false}}));
  EXPECT_EQ(ask(R"({"tell": 1, "pruned": true})").at("state"), "PRUNED");
  EXPECT_EQ(ask(R"({"report": 1, "step": 3, "values": 0.1})"), json({{"stop", true}}))
      << "it has ended";
  EXPECT_EQ(ask(R"({"best": true})").at("best").at("values").at("loss"), 0.4);
  EXPECT_EQ(ask(R"({"tell": 2, "released": true})").at("state"), "WAITING");
  EXPECT_EQ(ask(R"({"ask": 1})").at("trials").at(0).at("trial"), 2);
  EXPECT_EQ(ask(R"({"tell": 3, "values": 1})").at("state"), "COMPLETE");
  EXPECT_EQ(ask(R"({"tell": 3, "values": 9})").at("state"), "COMPLETE") << "the first tell counts";
  EXPECT_EQ(ask(R"({"report": 2, "values": "NaN"})"), json({{"stop", true}}));
}

TEST_F(AskLines, ATellOfATrialThatHasEndedSaysWhetherItWasIgnored) {
  ask(R"({"ask": 3})");
  ask(R"({"tell": [{"trial": 0, "values": 0.1}, {"trial": 1, "failed": "no luck"}]})");
  ask(R"({"report": 2, "step": 1, "values": 0.4})");
  ask(R"({"tell": 2, "pruned": true})");
  const json complete = {{"state", "COMPLETE"}}, failed = {{"state", "FAIL"}},
             pruned = {{"state", "PRUNED"}};
  EXPECT_EQ(ask(R"({"tell": 0, "values": 0.1})"), complete) << "it repeats what is known";
  EXPECT_EQ(ask(R"({"tell": 0, "attempt": 1, "values": {"loss": 0.1, "other": 7}})"), complete);
  EXPECT_EQ(ask(R"({"tell": 1, "failed": "anything"})"), failed);
  EXPECT_EQ(ask(R"({"tell": 1, "values": "NaN"})"), failed);
  EXPECT_EQ(ask(R"({"tell": 2, "pruned": true})"), pruned);
  for (const char* other :
       {R"({"tell": 0, "values": 0.2})", R"({"tell": 0, "values": "NaN"})",
        R"({"tell": 0, "failed": ""})", R"({"tell": 0, "pruned": true})",
        R"({"tell": 0, "released": true})", R"({"tell": 0, "attempt": 1, "values": 0.2})",
        R"({"tell": 1, "values": 0.1})", R"({"tell": 1, "released": true})",
        R"({"tell": 2, "values": 0.4})", R"({"tell": 2, "failed": ""})"})
    EXPECT_EQ(ask(other).value("ignored", false), true) << other;
  EXPECT_EQ(ask(R"({"tell": 0, "values": 0.2})").at("state"), "COMPLETE");
  EXPECT_EQ(ask(R"({"tell": 0, "values": 0.2, "ask": 0})").at("ignored"), true);
  EXPECT_EQ(ask(R"({"tell": [{"trial": 0, "values": 0.2}]})").at("told").at(0).at("ignored"), true);
  EXPECT_EQ(ask(R"({"best": true})").at("best").at("values"), json({{"loss", 0.1}}));
}

TEST_F(AskLines, NoCallIsNestedDeeperThanTheStack) {
  const std::string lists(200'000, '[');
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  ask(R"({"ask": 1})");
  for (const std::string& bomb : {lists, lists + std::string(200'000, ']'), objects}) {
    for (const char* call :
         {R"({"study":true,"id":)", R"({"tell":0,"values":)", R"({"tell":0,"failed":)",
          R"({"tell":[)", R"({"tell":)", R"({"ask":)", R"({"ask":1,"params":{"x":)",
          R"({"ask":1,"wait":)", R"({"report":0,"values":)", R"({"have":[)", R"({"best":)", ""})
      EXPECT_EQ(error_of(call + bomb + "}"),
                "a call is one JSON object in a line; this is nested more than 64 deep")
          << call;
  }
  EXPECT_EQ(ask(R"({"study": true, "id": [[1]]})").at("id"), json({json({1})}));
}

TEST_F(AskLines, ManyTellsAreAnsweredInTheirOrder) {
  ask(R"({"ask": 3})");
  const json told = ask(R"({"tell": [{"trial": 2, "values": 2}, {"values": 1}, {"trial": 77,
                            "values": 1}, {"trial": 0, "failed": ""}]})");
  EXPECT_EQ(told.at("told").at(0).at("state"), "COMPLETE");
  EXPECT_EQ(told.at("told").at(1).at("error"), "\"trial\" says which trial");
  EXPECT_EQ(told.at("told").at(2).at("error"), "study s has no trial 77");
  EXPECT_EQ(told.at("told").at(3).at("state"), "FAIL");
  EXPECT_EQ(ask(R"({"tell": []})"), json({{"told", json::array()}}));
}

TEST_F(AskLines, AStepIsAtMostABillion) {
  ask(R"({"ask": 1})");
  EXPECT_EQ(error_of(R"({"report": 0, "step": 2147483647, "values": 1})"),
            "\"step\" is at most 1000000000");
  EXPECT_TRUE(ask(R"({"report": 0, "step": 1000000000, "values": 1})").contains("stop"));
}

TEST_F(AskLines, ATellAndTheNextAskAreOneCall) {
  ask(R"({"ask": 1})");
  const json both = ask(R"({"id": 5, "tell": 0, "values": 0.5, "ask": 1})");
  EXPECT_EQ(both.at("id"), 5);
  EXPECT_EQ(both.at("state"), "COMPLETE");
  EXPECT_EQ(both.at("trials").at(0).at("trial"), 1);
  const json bad = ask(R"({"tell": 44, "values": 0.5, "ask": 1})");
  EXPECT_EQ(bad.at("tell_error"), "study s has no trial 44");
  EXPECT_EQ(bad.at("trials").at(0).at("trial"), 2);
}

TEST_F(AskLines, ACandidateOfTheCallersIsATrialOrAKnownOne) {
  const char* wish = R"({"ask": 1, "params": {"x": 0.25, "opt": "sgd"}})";
  const json trial = ask(wish).at("trials").at(0);
  EXPECT_EQ(trial.at("params").at("x"), 0.25);
  ask(fmt::format(R"({{"tell": {}, "values": 1}})", trial.at("trial").get<int>()));
  const json known = ask(wish).at("trials").at(0);
  EXPECT_EQ(known.at("state"), "COMPLETE");
  EXPECT_NE(error_of(R"({"ask": 1, "params": {"x": 3, "opt": "sgd"}})").find("0 to 1"),
            std::string::npos);
}

TEST_F(AskLines, AWholeNumberBeyond63BitsIsNotANegativeOne) {
  open({}, "",
       "version: 1\nstudy: t\nexternal: {}\nparameters: {n: {type: int, low: -5, high: 5}}\n"
       "objectives: [{metric: loss, direction: minimize}]\n");
  EXPECT_NE(error_of(R"({"ask": 1, "params": {"n": 18446744073709551615}})").find("-5 to 5"),
            std::string::npos);
}

TEST_F(AskLines, WhatIsNoCallIsAnErrorAndChangesNothing) {
  for (const char* line :
       {"", "no json", "[1]", "{}", R"({"ask": "x"})", R"({"ask": -1})", R"({"tell": 0})",
        R"({"tell": 1e300, "values": 1})", R"({"tell": 0, "values": true})",
        R"({"report": 0, "values": {}})", R"({"ask": 1, "params": [1]})", R"({"have": ["a"]})"})
    EXPECT_NE(error_of(line), "none") << line;
  EXPECT_EQ(ask(R"({"study": true})").at("trials"), 0);
}

TEST_F(AskLines, AStudySaysHowManyOfItsTrialsHaveEnded) {
  ask(R"({"ask": 3})");
  ask(R"({"tell": 0, "values": 1})");
  ask(R"({"tell": 1, "failed": "no luck"})");
  json study = ask(R"({"study": true})");
  EXPECT_FALSE(study.at("version").get<std::string>().empty());
  study.erase("version");
  EXPECT_EQ(study, json({{"study", "s"},
                         {"objectives", {"loss"}},
                         {"trials", 3},
                         {"finished", 2},
                         {"steps", 0}}));
}

TEST_F(AskLines, AskingForNoneOrForTooManyIsAnswered) {
  EXPECT_EQ(ask(R"({"ask": 0})").at("trials"), json::array());
  open({}, "3trials");
  const json all = ask(R"({"ask": 100})");
  EXPECT_EQ(all.at("trials").size(), 3u);
  EXPECT_EQ(all.at("none"), "the budget is used up");
}

TEST_F(AskLines, TrialsOfTheCommandLineOutliveTheProcess) {
  ask(R"({"ask": 1})");
  open();
  EXPECT_EQ(ask(R"({"ask": 1})").at("trials").at(0).at("trial"), 1);
  EXPECT_EQ(ask(R"({"tell": 0, "values": 1})").at("state"), "COMPLETE");
}

TEST_F(AskLines, TrialsOfAProcessThatIsGoneWaitForWhoeverAsks) {
  const std::string dead = fmt::format("ask {}/{}", host_name(), 999'999'999);
  const std::string elsewhere = "ask another-host/12";
  ask(R"({"ask": 1})", dead);
  ask(R"({"ask": 1})", elsewhere);
  ask(R"({"ask": 1})", this_caller());
  open();
  EXPECT_EQ(ask(R"({"tell": 1, "values": 1})").at("state"), "COMPLETE")
      << "nobody here knows whether a process of another machine lives";
  EXPECT_EQ(ask(R"({"ask": 1})").at("trials").at(0).at("trial"), 0);
  EXPECT_EQ(ask(R"({"ask": 1})").at("trials").at(0).at("trial"), 2);
}

// Another process gave trials to this one, and was killed.
TEST_F(AskLines, ACallerKeepsItsTrialsWhenItTakesTheStudyOver) {
  ask(R"({"ask": 2})", this_caller());
  service_.reset();
  {
    const auto ledger = Ledger::open(folder_.path() / "detol.db").value();
    const StudyId study = ledger->open_study("s")->id;
    for (const TrialId trial : {0, 1}) {
      const Event given = event::Started{.trial = trial, .attempt = 2, .worker = this_caller()};
      ASSERT_TRUE(ledger->append(study, {&given, 1}));
    }
  }
  open({1});
  EXPECT_EQ(ask(R"({"tell": 1, "values": 1})"), json({{"state", "COMPLETE"}}));
  EXPECT_EQ(error_of(R"({"tell": 0, "values": 1})"),
            "trial 0 waits to be asked for again: whoever had it was gone");
}

TEST_F(AskLines, ATrialOfWhichItsCallerNeverHeardIsGivenAgain) {
  const std::string elsewhere = "ask another-host/12";
  ask(R"({"ask": 2})", elsewhere);
  open();
  ask(R"({"have": [1]})", elsewhere);
  EXPECT_EQ(ask(R"({"ask": 1})").at("trials").at(0).at("trial"), 0);
  EXPECT_EQ(ask(R"({"tell": 1, "values": 1})", elsewhere), json({{"state", "COMPLETE"}}));
}

TEST_F(AskLines, ACallerKeepsTheTrialsOfThisProcessThatItDoesNotName) {
  ask(R"({"ask": 1})", "ask elsewhere/1");
  EXPECT_EQ(ask(R"({"have": []})", "ask elsewhere/1"), json::object());
  EXPECT_EQ(ask(R"({"tell": 0, "values": 1})", "ask elsewhere/1"), json({{"state", "COMPLETE"}}));
}

TEST_F(AskLines, TrueAndFalseAreValuesOfAFlagAlone) {
  std::string space(kSpace);
  space.replace(space.find("study: s"), 8, "study: f");
  space.replace(space.find("batch: 32"), 9, "flag: {type: bool}");
  open({}, "", space);
  const auto asked = [&](const std::string& x, const std::string& flag) {
    return ask(R"({"ask": 1, "params": {"opt": "sgd", "x": )" + x + R"(, "flag": )" + flag + "}}");
  };
  EXPECT_EQ(asked("0.5", "true").at("trials").at(0).at("params").at("flag"), json(true));
  EXPECT_EQ(asked("true", "true").at("error"), "x cannot be true; it accepts 0 to 1");
  EXPECT_EQ(asked("0.5", "1").at("error"), "flag cannot be 1; it accepts true or false");
}

TEST_F(AskLines, AnAttemptThatWasReplacedTellsNothing) {
  ask(R"({"ask": 1})");
  ask(R"({"tell": 0, "released": true})");
  EXPECT_EQ(ask(R"({"ask": 1})").at("trials").at(0).at("attempt"), 2);
  EXPECT_EQ(error_of(R"({"tell": 0, "attempt": 1, "values": 1})"),
            "trial 0 was given to another caller meanwhile");
  EXPECT_EQ(ask(R"({"tell": 0, "attempt": 2, "values": 1})").at("state"), "COMPLETE");
}

}  // namespace
}  // namespace detol

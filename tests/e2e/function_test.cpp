// A study of a function, by every command that applies: no data, no network.

#include <algorithm>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

constexpr const char* kNaps = R"(version: 1
study: naps
function: {name: sleep, seconds: 0}
search: {algorithm: random}
budget: 6trials
)";

class FunctionSearch : public testing::Test {
 protected:
  FunctionSearch() { write_bytes(folder_.path() / "naps.yaml", kNaps); }

  Ran detol(const std::vector<std::string>& words) const { return run(folder_.path(), words); }

  Ran search(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"search", "--space", "naps.yaml", "-j", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return detol(words);
  }

  Json json(std::vector<std::string> words) const {
    words.insert(words.end(), {"-f", "json"});
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out, nullptr, false);
  }

  TempFolder folder_;
};

TEST_F(FunctionSearch, StartsFromAnEarlierStudyOfTheSameBase) {
  write_bytes(folder_.path() / "levy.yaml", R"(version: 1
study: levy
function: {name: levy, dimensions: 3}
search: {algorithm: gp}
budget: 20trials
)");
  const auto levy = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"search", "--space", "levy.yaml", "-j", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return detol(words);
  };
  const auto results = [&](const std::string& study) {
    return detol({"query", "-f", "csv",
                  "SELECT trial, algorithm, value, params_json FROM v_trials WHERE study = '" +
                      study + "' ORDER BY trial"})
        .out;
  };
  const std::vector<std::string> from_levy = {"--seed", "5", "--set", "search.warm_start=[levy]"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), from_levy.begin(), from_levy.end());
    return levy(words);
  };
  ASSERT_EQ(levy({}).code, 0);
  const Ran warm = with({"--study", "warm"});
  ASSERT_EQ(warm.code, 0) << warm.err;
  EXPECT_NE(warm.err.find("starts from 20 trials of study 'levy'"), std::string::npos) << warm.err;
  EXPECT_NE(results("warm").find("0,warm_start,"), std::string::npos) << results("warm");
  // A study that is resumed proposes the same, also without the one that it started from.
  ASSERT_EQ(with({"--study", "broken", "--budget", "7trials"}).code, 0);
  ASSERT_EQ(detol({"study", "delete", "levy", "--yes"}).code, 0);
  ASSERT_EQ(detol({"resume", "broken", "--budget", "20trials", "-j", "1"}).code, 0);
  EXPECT_EQ(results("broken"), results("warm"));
  const Json why = json({"trial", "warm", "19", "--why"});
  EXPECT_EQ(why["told"], 19);
  EXPECT_EQ(why["model"], "gp");
  EXPECT_TRUE(why["predicted_value"].is_number()) << why;
  EXPECT_EQ(with({"--study", "lost"}).code, 4);
}

TEST_F(FunctionSearch, LearnsItsConstraintsAlsoAfterAResume) {
  write_bytes(folder_.path() / "gardner.yaml", R"(version: 1
study: gardner
function: {name: gardner}
objectives: [{metric: value, direction: minimize}]
constraints: [{metric: c1, max: 0}]
search: {algorithm: gp}
budget: 40trials
)");
  const auto results = [&](const std::string& study) {
    return detol({"query", "-f", "csv",
                  "SELECT trial, value, params_json FROM v_trials WHERE study = '" + study +
                      "' ORDER BY trial"})
        .out;
  };
  const std::vector<std::string> words = {"search", "--space", "gardner.yaml", "-j", "1"};
  ASSERT_EQ(detol(words).code, 0);
  EXPECT_NEAR(json({"best", "gardner"})["value"].get<double>(), 0.25324, 0.01);
  const Json why = json({"trial", "gardner", "best", "--why"});
  EXPECT_GT(why["feasibility"].get<double>(), 0.05) << why;
  const std::string straight = results("gardner");
  ASSERT_EQ(detol({"study", "delete", "gardner", "--yes"}).code, 0);
  std::vector<std::string> broken = words;
  broken.insert(broken.end(), {"--study", "broken", "--budget", "15trials"});
  ASSERT_EQ(detol(broken).code, 0);
  ASSERT_EQ(detol({"resume", "broken", "--budget", "40trials", "-j", "1"}).code, 0);
  EXPECT_EQ(results("broken"), straight);
}

TEST_F(FunctionSearch, SaysWhatWasKnownOfATrialThatFailed) {
  write_bytes(folder_.path() / "boundary.yaml", R"(version: 1
study: boundary
seed: 3
function: {name: boundary}
objectives: [{metric: value, direction: minimize}]
search: {algorithm: gp}
budget: 30trials
)");
  ASSERT_EQ(detol({"search", "--space", "boundary.yaml", "-j", "1"}).code, 0);
  const Json failed = json({"trials", "boundary", "--state", "FAIL"});
  ASSERT_FALSE(failed.empty());
  const Json why = json({"trial", "boundary", failed.back()["trial"].dump(), "--why"});
  EXPECT_TRUE(why["measured_value"].is_null()) << why;
  EXPECT_TRUE(why["predicted_value"].is_number()) << why;
  EXPECT_GT(why["success"].get<double>(), 0) << why;
}

TEST_F(FunctionSearch, RunsAndIsRead) {
  const Json valid = json({"validate", "--space", "naps.yaml"});
  EXPECT_EQ(valid["choices"], 1);
  EXPECT_EQ(valid["size"], "continuous");
  for (const char* of_networks : {"training_images", "params_min", "refused"})
    EXPECT_FALSE(valid.contains(of_networks)) << of_networks;
  const Ran ran = search();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json({"status", "naps"})["trained"], 6);
  const Json trials = json({"trials", "naps"});
  ASSERT_EQ(trials.size(), 6u);
  for (const Json& trial : trials) {
    EXPECT_EQ(trial["state"], "COMPLETE");
    EXPECT_EQ(trial["values"], Json({{"value", 0.0}}));
    EXPECT_TRUE(trial["params"].contains("x0"));
    EXPECT_TRUE(trial["architecture"].is_null());
  }
  EXPECT_EQ(json({"best", "naps"})["value"], 0);
  EXPECT_EQ(json({"trial", "naps", "3"})["epochs"], 1);
  EXPECT_EQ(json({"trial", "naps", "best", "--curve"}).size(), 1u);
  EXPECT_EQ(json({"trial", "naps", "3", "--why"})["model"], "none: random predicts nothing");
}

TEST_F(FunctionSearch, OfSeveralObjectivesEndsInTheTrialsThatNoOtherBeats) {
  write_bytes(folder_.path() / "front.yaml",
              "version: 1\nstudy: front\nfunction: {name: zdt1, dimensions: 5}\n"
              "search: {algorithm: nsga2}\nbudget: 40trials\n");
  const Ran ran = detol({"search", "--space", "front.yaml", "-j", "1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json front = json({"pareto", "front"}), trials = json({"trials", "front"});
  const auto beats = [](const Json& a, const Json& b) {
    const double a1 = a["values"]["f1"], a2 = a["values"]["f2"];
    const double b1 = b["values"]["f1"], b2 = b["values"]["f2"];
    return a1 <= b1 && a2 <= b2 && (a1 < b1 || a2 < b2);
  };
  EXPECT_GE(front.size(), 2u);
  for (const Json& best : front) {
    EXPECT_TRUE(std::ranges::none_of(trials, [&](const Json& t) { return beats(t, best); }));
  }
}

TEST_F(FunctionSearch, LeavesNoFilesOfItsTrials) {
  ASSERT_EQ(search().code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "detol.db.d" / "naps"));
}

TEST_F(FunctionSearch, SaysThatThereIsNoNetwork) {
  ASSERT_EQ(search().code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"trial", "naps", "best", "--arch"},
        std::vector<std::string>{"export", "naps", "--to", "onnx"}}) {
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 6) << ran.err;
    EXPECT_NE(ran.err.find("network"), std::string::npos) << ran.err;
  }
}

TEST_F(FunctionSearch, EveryBudgetButOneInWorkEndsIt) {
  EXPECT_EQ(search({"--study", "wall", "--budget", "1s"}).code, 0);
  EXPECT_EQ(search({"--study", "device", "--budget", "1cpu-s"}).code, 0);
  const Ran work = search({"--study", "work", "--budget", "1e9flops"});
  EXPECT_EQ(work.code, 2);
  EXPECT_NE(work.err.find("flops"), std::string::npos) << work.err;
  ASSERT_EQ(search().code, 0);
  EXPECT_EQ(detol({"resume", "naps", "--budget", "+1e9flops"}).code, 2);
  EXPECT_EQ(detol({"resume", "naps", "--budget", "+2trials"}).code, 0);
  EXPECT_EQ(json({"status", "naps"})["trained"], 8);
}

TEST_F(FunctionSearch, ItsNoiseIsTheSameAfterAResume) {
  write_bytes(folder_.path() / "noisy.yaml", R"(version: 1
study: noisy
function: {name: levy, noise: 0.5}
search: {algorithm: random, warm_start: none}
budget: 8trials
)");
  const auto noisy = [&](const std::string& study, const std::string& budget) {
    return detol({"search", "--space", "noisy.yaml", "--study", study, "--budget", budget}).code;
  };
  const auto values = [&](const std::string& study) {
    return json({"query", "SELECT trial, params_json, value FROM v_trials WHERE study = '" + study +
                              "' ORDER BY trial"});
  };
  ASSERT_EQ(noisy("whole", "8trials"), 0);
  ASSERT_EQ(noisy("halves", "4trials"), 0);
  ASSERT_EQ(detol({"resume", "halves", "--budget", "8trials"}).code, 0);
  EXPECT_EQ(values("whole"), values("halves"));
  EXPECT_EQ(values("whole").size(), 8u);
  EXPECT_TRUE(json({"best", "whole", "--by", "posterior"})["posterior_mean"].is_number());
}

TEST_F(FunctionSearch, ATargetIsOfItsOwnMetric) {
  EXPECT_EQ(search({"--target", "val_loss<=0"}).code, 2);
  ASSERT_EQ(search({"--target", "value<=0"}).code, 0);
  EXPECT_LT(json({"status", "naps"})["trained"], 6);
}

TEST_F(FunctionSearch, ALongSleepEndsOnRequest) {
  Program program(folder_.path(), {"search", "--space", "naps.yaml", "-j", "1", "--set",
                                   "function.seconds=100000", "--progress", "events"});
  ASSERT_TRUE(program.says("starts on"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 75);
  EXPECT_EQ(json({"status", "naps"})["state"], "STOPPED");
}

}  // namespace
}  // namespace detol::testing_support

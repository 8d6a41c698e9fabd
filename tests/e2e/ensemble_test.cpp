// Trials of a study that vote.

#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/searched_study.h"

namespace detol {
namespace {

using nlohmann::json;
using testing_support::json_of;
using testing_support::last_line;
using testing_support::Ran;
using testing_support::Searched;
using testing_support::text_of;

json settings_of(const Searched& tiny, const json& model) {
  const json rows = tiny.query("SELECT settings, kind, parent FROM v_models WHERE model = " +
                               std::to_string(model["model"].get<int>()));
  EXPECT_EQ(rows[0]["kind"], "ensembled");
  return json::parse(rows[0]["settings"].get<std::string>(), nullptr, false);
}

TEST(Ensemble, IsAModelWithItsMembersAndTheirWeights) {
  const Searched tiny;
  const Ran ran = tiny.detol({"ensemble", "tiny", "--size", "8", "-f", "json"});
  const json model = json_of(ran);
  const json settings = settings_of(tiny, model);
  EXPECT_EQ(settings["size"], 8);
  double sum = 0;
  for (const json& member : settings["members"]) sum += member["weight"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(settings["members"][0]["trial"], model["trial"]);
  const double score = model["test"]["test_accuracy"];
  EXPECT_LE(model["test_interval"]["test_accuracy"][0], score);
  EXPECT_GE(model["test_interval"]["test_accuracy"][1], score);
  const json best = json_of(tiny.detol({"best", "tiny", "-f", "json"}));
  EXPECT_LE(model["values"]["val_loss"].get<double>(),
            best["values"]["val_loss"].get<double>() + 1e-6);
  EXPECT_NE(last_line(ran.err).find("alone: test_accuracy"), std::string::npos) << ran.err;
}

TEST(Ensemble, OfEqualStudiesIsEqual) {
  const Searched one, other;
  EXPECT_EQ(json_of(one.detol({"ensemble", "tiny", "-f", "json"})),
            json_of(other.detol({"ensemble", "tiny", "-f", "json"})));
}

TEST(Ensemble, PredictsAlikeFromTheStudyAndFromItsFile) {
  const Searched tiny;
  const json model = json_of(tiny.detol({"ensemble", "tiny", "-f", "json"}));
  const std::string number = std::to_string(model["model"].get<int>());
  const std::string images = "data/t10k-images-idx3-ubyte";
  const Ran answer = tiny.detol({"predict", "tiny", "--model", number, "--data", images});
  ASSERT_EQ(answer.code, 0) << answer.err;
  for (const char* format : {"onnx", "safetensors"}) {
    const Ran written =
        tiny.detol({"export", "tiny", "--model", number, "--to", format, "--verify"});
    ASSERT_EQ(written.code, 0) << written.err;
    const std::string file = "tiny-model" + number + "." + format;
    EXPECT_EQ(tiny.detol({"predict", file, "--data", images}).out, answer.out) << format;
  }
  const std::string card = text_of(tiny.path() / ("tiny-model" + number + ".md"));
  EXPECT_NE(card.find("An ensemble, model " + number + ": trials and their weights: "),
            std::string::npos)
      << card;
  EXPECT_EQ(json_of(tiny.detol({"test", "tiny", "--model", number, "-f", "json"}))["test"],
            model["test"]);
  const Ran all = tiny.detol({"export", "tiny", "--model", number, "--to", "all", "-o", "all"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_NE(all.err.find("PyTorch"), std::string::npos) << all.err;
  EXPECT_EQ(tiny.detol({"export", "tiny", "--model", number, "--to", "pytorch"}).code, 7);
}

TEST(Ensemble, NeedsItsMembersCheckpointsNoMoreAndIsKnownToNoSearch) {
  const Searched tiny, plain;
  const json model = json_of(tiny.detol({"ensemble", "tiny", "-f", "json"}));
  const std::string number = std::to_string(model["model"].get<int>());
  for (const auto* study : {&tiny, &plain})
    ASSERT_EQ(study->detol({"resume", "tiny", "--budget", "9trials", "--workers", "1"}).code, 0);
  EXPECT_EQ(tiny.results(), plain.results());
  for (const json& member : settings_of(tiny, model)["members"])
    std::filesystem::remove_all(tiny.path() / "detol.db.d/tiny" /
                                std::to_string(member["trial"].get<int>()));
  EXPECT_EQ(tiny.detol({"export", "tiny", "--model", number, "--to", "onnx", "--verify"}).code, 0);
}

void remove_trials(const Searched& tiny) {
  for (int trial = 0; trial < 9; ++trial)
    std::filesystem::remove_all(tiny.path() / "detol.db.d/tiny" / std::to_string(trial));
}

TEST(Ensemble, MayHaveRetrainedModelsThatHaveNotSeenTheValidationData) {
  const Searched tiny;
  json_of(tiny.detol({"retrain", "tiny", "--seeds", "2", "-f", "json"}));
  json_of(tiny.detol({"retrain", "tiny", "--on", "train+validation", "-f", "json"}));
  remove_trials(tiny);  // nobody else may vote
  const json model = json_of(tiny.detol({"ensemble", "tiny", "-f", "json"}));
  const std::set<int> of_training = {2, 3};
  std::set<int> members;
  for (const json& member : settings_of(tiny, model)["members"])
    members.insert(member["model"].get<int>());
  EXPECT_TRUE(std::ranges::includes(of_training, members));
  EXPECT_EQ(model["members"].get<std::string>().find("model "), 0u);
  const std::string number = std::to_string(model["model"].get<int>());
  EXPECT_EQ(tiny.detol({"export", "tiny", "--model", number, "--to", "onnx", "--verify"}).code, 0);
}

TEST(Ensemble, OfAllDataIsOfTheModelsThatWereRetrainedOnThem) {
  const Searched tiny;
  const std::vector<std::string> words = {"ensemble",         "tiny", "--on",
                                          "train+validation", "-f",   "json"};
  const Ran none = tiny.detol(words);
  EXPECT_EQ(none.code, 6) << none.err;
  EXPECT_NE(none.err.find("begin with detol retrain tiny --on train+validation"), std::string::npos)
      << none.err;
  json_of(tiny.detol({"retrain", "tiny", "-f", "json"}));
  const json all = json_of(
      tiny.detol({"retrain", "tiny", "--on", "train+validation", "--seeds", "2", "-f", "json"}));
  const json model = json_of(tiny.detol(words));
  const json members = settings_of(tiny, model)["members"];
  ASSERT_EQ(members.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(members[i]["model"], all[i]["model"]);
    EXPECT_EQ(members[i]["weight"], 0.5);
  }
  EXPECT_EQ(tiny.query("SELECT trained_on FROM v_models WHERE kind = 'ensembled'")[0]["trained_on"],
            "train+validation");
  EXPECT_FALSE(model["values"].contains("val_loss")) << "nothing is left to validate on";
  const std::string number = std::to_string(model["model"].get<int>());
  EXPECT_EQ(tiny.detol({"export", "tiny", "--model", number, "--to", "onnx", "--verify"}).code, 0);
}

TEST(Ensemble, IsNeitherPrunedNorQuantised) {
  const Searched tiny;
  ASSERT_EQ(tiny.detol({"ensemble", "tiny"}).code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"prune", "tiny", "--model", "2", "--to", "flops=0.9"},
        std::vector<std::string>{"quantize", "tiny", "--model", "2"}}) {
    const auto refused = tiny.detol(words);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_NE(refused.err.find("is an ensemble"), std::string::npos) << refused.err;
  }
}

TEST(Ensemble, IsRefusedWhereNoTrialHasItsWeights) {
  const Searched tiny;
  remove_trials(tiny);
  const Ran ran = tiny.detol({"ensemble", "tiny"});
  EXPECT_EQ(ran.code, 6) << ran.err;
  EXPECT_NE(ran.err.find("no trial of study tiny has its weights"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace detol

// Models whose channels were removed, and what may happen to them meanwhile.

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/searched_study.h"

namespace detol {
namespace {

using nlohmann::json;
using testing_support::Environment;
using testing_support::json_of;
using testing_support::Program;
using testing_support::Ran;
using testing_support::Searched;
using testing_support::text_of;

using Words = std::vector<std::string>;

const Words kPrune = {"prune", "tiny", "--trial", "0", "--to", "params=0.6", "-f", "json"};

void expect_error(const Ran& ran, int code, const std::string& text) {
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
}

std::string architecture_of(const Searched& study) {
  return study.query("SELECT architecture FROM v_models WHERE kind = 'pruned'")[0]["architecture"]
      .dump();
}

TEST(Prune, LeavesTheShareThatWasAskedForAndTestsIt) {
  const Searched tiny;
  const json models = json_of(tiny.detol(kPrune));
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["state"], "COMPLETE");
  EXPECT_TRUE(models[0]["test"].contains("test_accuracy"));
  const json row = tiny.query(
      "SELECT m.params * 1.0 / t.params AS share, m.settings->>'importance' AS importance FROM "
      "v_models m JOIN v_trials t ON t.study = m.study AND t.trial = m.trial WHERE kind = "
      "'pruned'")[0];
  EXPECT_LE(row["share"], 0.6);
  EXPECT_GT(row["share"], 0.4);
  EXPECT_EQ(row["importance"], "taylor");
  EXPECT_EQ(json_of(tiny.detol({"test", "tiny", "--model", "2", "-f", "json"}))["test"],
            models[0]["test"]);
}

TEST(Prune, GivesAModelThatExportsVerifiesAndPredicts) {
  const Searched tiny;
  json_of(tiny.detol(kPrune));
  const Ran exported = tiny.detol({"export", "tiny", "--model", "2", "--to", "all", "--verify"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const std::string images = "data/t10k-images-idx3-ubyte";
  const Ran answer = tiny.detol({"predict", "tiny", "--model", "2", "--data", images});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(tiny.detol({"predict", "tiny-model2.onnx", "--data", images}).out, answer.out);
  const std::string card = text_of(tiny.path() / "tiny-model2.md");
  EXPECT_NE(card.find("Pruned: model 2"), std::string::npos) << card;
  EXPECT_NE(card.find("\"to\":\"params\""), std::string::npos) << card;
}

TEST(Prune, TakesAPrunedModelFurther) {
  const Searched tiny;
  json_of(tiny.detol(kPrune));
  json_of(tiny.detol({"prune", "tiny", "--model", "2", "--to", "params=0.7", "-f", "json"}));
  const json rows = tiny.query(
      "SELECT model, trial, parent, params FROM v_models WHERE kind = 'pruned' ORDER BY model");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["parent"], nullptr);
  EXPECT_EQ(rows[1]["parent"], 2);
  EXPECT_LE(rows[1]["params"].get<double>(), 0.7 * rows[0]["params"].get<double>());
}

TEST(Prune, TrainsOnTheValidationDataWhereItsParentDid) {
  const Searched tiny;
  json_of(
      tiny.detol({"retrain", "tiny", "--trial", "0", "--on", "train+validation", "-f", "json"}));
  const json models =
      json_of(tiny.detol({"prune", "tiny", "--model", "2", "--to", "params=0.6", "-f", "json"}));
  EXPECT_EQ(models[0]["trained_on"], "train+validation");
  EXPECT_FALSE(models[0]["values"].contains("val_accuracy"));
  const json quantised = json_of(tiny.detol({"quantize", "tiny", "--model", "2", "-f", "json"}));
  EXPECT_EQ(quantised[0]["trained_on"], "train+validation");
  EXPECT_FALSE(quantised[0]["values"].contains("val_accuracy"));
}

TEST(Prune, IsKnownToNoSearchAndNoBudget) {
  const Searched tiny, plain;
  json_of(tiny.detol({"prune", "tiny", "--to", "flops=0.9", "--epochs", "20", "-f", "json"}));
  for (const Searched* study : {&tiny, &plain})
    ASSERT_EQ(study->detol({"resume", "tiny", "--budget", "9trials", "--workers", "1"}).code, 0);
  EXPECT_EQ(tiny.results(), plain.results());
}

TEST(Prune, ToALatencyLeavesAFasterNetwork) {
  const Searched tiny;
  const Ran ran = tiny.detol(
      {"prune", "tiny", "--trial", "0", "--to", "latency=0.95", "--batch", "64", "--epochs", "1"});
  // A tiny network may have nothing to win; then a line says so.
  if (ran.code == 0) {
    EXPECT_NE(ran.err.find("of its latency"), std::string::npos) << ran.err;
  } else {
    EXPECT_EQ(ran.code, 6) << ran.err;
    EXPECT_NE(ran.err.find("cannot be pruned to"), std::string::npos) << ran.err;
  }
}

// The fault ends every process at once, whichever is the first to get there.
TEST(Prune, ThatIsKilledAnywhereEndsWithTheNetworkAndScoreOfAnUndisturbedOne) {
  const Searched undisturbed;
  const json expected = json_of(undisturbed.detol(kPrune));
  const Searched tiny;
  for (const char* fault : {"checkpoint.write:1:kill", "ledger.append:1:kill", "train.epoch:2:kill",
                            "ledger.commit:2:kill"}) {
    const Environment set("DETOL_FAULT", fault);
    const Environment once("DETOL_FAULT_MARK", (tiny.path() / fault).string());
    tiny.detol(kPrune);
  }
  tiny.detol(kPrune);
  const json model = json_of(tiny.detol({"test", "tiny", "--model", "2", "-f", "json"}));
  EXPECT_EQ(model["test"], expected[0]["test"]);
  EXPECT_EQ(architecture_of(tiny), architecture_of(undisturbed));
}

TEST(Prune, ThatWasStoppedGoesOnFromThere) {
  const Searched tiny, undisturbed;
  Words words = kPrune;
  words.insert(words.end(), {"--epochs", "300"});
  const json expected = json_of(undisturbed.detol(words));
  Program stopped(tiny.path(), words);
  ASSERT_TRUE(stopped.says("of 300")) << stopped.wait().err;
  stopped.signal(SIGTERM);
  EXPECT_EQ(stopped.wait().code, 75);
  EXPECT_EQ(json_of(tiny.detol(words)), expected);
}

TEST(Prune, SaysInALineWhatItCannotDo) {
  const Searched tiny;
  for (const char* to : {"flops", "flops=1", "flops=0", "flops=x", "speed=0.5", "=0.5"})
    expect_error(tiny.detol({"prune", "tiny", "--to", to}), 2, "flops=0.5");
  expect_error(tiny.detol({"prune", "tiny"}), 2, "--to");
  expect_error(tiny.detol({"prune", "tiny", "--to", "flops=0.5", "--importance", "luck"}), 2,
               "magnitude");
  expect_error(tiny.detol({"prune", "tiny", "--to", "flops=0.5", "--batch", "0"}), 2, "batch");
  const Ran little = tiny.detol({"prune", "tiny", "--trial", "0", "--to", "params=0.0001"});
  EXPECT_EQ(little.code, 6) << little.err;
  EXPECT_NE(little.err.find("cannot be pruned to"), std::string::npos) << little.err;
  EXPECT_EQ(tiny.query("SELECT count(*) AS count FROM v_models")[0]["count"], 1);
}

}  // namespace
}  // namespace detol

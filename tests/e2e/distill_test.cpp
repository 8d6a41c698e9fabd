// Ensembles that teach a network of the space.

#include <csignal>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/searched_study.h"

namespace detol {
namespace {

using nlohmann::json;
using testing_support::Environment;
using testing_support::json_of;
using testing_support::last_line;
using testing_support::Program;
using testing_support::Ran;
using testing_support::Searched;
using testing_support::text_of;

using Words = std::vector<std::string>;

const Words kDistill = {"ensemble", "tiny", "--distill", "--seeds", "2", "-f", "json"};

TEST(Distill, TrainsNetworksOfTheBestTrialOnWhatANewEnsembleSays) {
  const Searched tiny;
  const Ran ran = tiny.detol(kDistill);
  const json models = json_of(ran);
  ASSERT_EQ(models.size(), 2u);
  const json rows = tiny.query(
      "SELECT m.model, m.kind, m.trial, m.parent, e.kind AS teacher, m.params, t.params AS "
      "of_trial "
      "FROM v_models m JOIN v_models e ON e.model = m.parent JOIN v_trials t ON t.trial = m.trial "
      "WHERE m.kind = 'distilled'");
  ASSERT_EQ(rows.size(), 2u);
  const json best = json_of(tiny.detol({"best", "tiny", "-f", "json"}));
  for (const json& row : rows) {
    EXPECT_EQ(row["teacher"], "ensembled");
    EXPECT_EQ(row["trial"], best["trial"]);
    EXPECT_EQ(row["params"], row["of_trial"]);
  }
  EXPECT_NE(models[0]["test"], models[1]["test"]);
  EXPECT_NE(last_line(ran.err).find("the ensemble: test_accuracy"), std::string::npos) << ran.err;
}

TEST(Distill, TeachesOtherThanTheLabelsDo) {
  const Searched tiny;
  const json retrained = json_of(tiny.detol({"retrain", "tiny", "-f", "json"}));
  Words words = {"ensemble", "tiny", "--distill", "-f", "json"};
  const json distilled = json_of(tiny.detol(words));
  EXPECT_NE(distilled[0]["values"]["train_loss"], retrained[0]["values"]["train_loss"]);
}

TEST(Distill, TakesTheEnsembleAndTheTrialThatItIsTold) {
  const Searched tiny;
  const json ensemble = json_of(tiny.detol({"ensemble", "tiny", "-f", "json"}));
  const std::string number = std::to_string(ensemble["model"].get<int>());
  const json models = json_of(tiny.detol({"ensemble", "tiny", "--distill", "--model", number,
                                          "--trial", "0", "--epochs", "2", "-f", "json"}));
  EXPECT_EQ(models[0]["trial"], 0);
  EXPECT_EQ(models[0]["epochs"], 2);
  const json rows = tiny.query("SELECT parent FROM v_models WHERE kind = 'distilled'");
  EXPECT_EQ(rows[0]["parent"], ensemble["model"]);
  EXPECT_EQ(tiny.query("SELECT count(*) AS n FROM v_models WHERE kind = 'ensembled'")[0]["n"], 1);
}

TEST(Distill, GivesAModelThatTestsExportsVerifiesAndPredicts) {
  const Searched tiny;
  const json models = json_of(tiny.detol(kDistill));
  const std::string number = std::to_string(models[0]["model"].get<int>());
  EXPECT_EQ(json_of(tiny.detol({"test", "tiny", "--model", number, "-f", "json"}))["test"],
            models[0]["test"]);
  const Ran exported = tiny.detol({"export", "tiny", "--model", number, "--to", "all", "--verify"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const std::string images = "data/t10k-images-idx3-ubyte";
  const Ran answer = tiny.detol({"predict", "tiny", "--model", number, "--data", images});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(tiny.detol({"predict", "tiny-model" + number + ".onnx", "--data", images}).out,
            answer.out);
  EXPECT_NE(text_of(tiny.path() / ("tiny-model" + number + ".md")).find("Distilled: model"),
            std::string::npos);
}

TEST(Distill, IsKnownToNoSearchAndNoBudget) {
  const Searched tiny, plain;
  json_of(tiny.detol(kDistill));
  for (const Searched* study : {&tiny, &plain})
    ASSERT_EQ(study->detol({"resume", "tiny", "--budget", "9trials", "--workers", "1"}).code, 0);
  EXPECT_EQ(tiny.results(), plain.results());
}

// The fault ends every process at once, whichever is the first to get there.
TEST(Distill, ThatIsKilledAnywhereEndsWithTheScoresOfAnUndisturbedOne) {
  const Searched undisturbed, tiny;
  const json expected = json_of(undisturbed.detol(kDistill));
  for (const char* fault : {"checkpoint.write:1:kill", "train.epoch:2:kill", "train.epoch:3:kill",
                            "checkpoint.write:2:kill"}) {
    const Environment set("DETOL_FAULT", fault);
    const Environment once("DETOL_FAULT_MARK", (tiny.path() / fault).string());
    tiny.detol(kDistill);
  }
  tiny.detol(kDistill);
  const json found = tiny.query(
      "SELECT values_json FROM v_models WHERE kind = 'distilled' AND first = (SELECT min(first) "
      "FROM v_models WHERE kind = 'distilled') ORDER BY model");
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const json values = json::parse(found[i]["values_json"].get<std::string>());
    EXPECT_EQ(values["test_accuracy"], expected[i]["test"]["test_accuracy"]);
    EXPECT_EQ(values["val_loss"], expected[i]["values"]["val_loss"]);
  }
}

TEST(Distill, ThatWasStoppedGoesOnFromThere) {
  const Searched tiny, undisturbed;
  Words words = kDistill;
  words.insert(words.end(), {"--epochs", "300"});
  const json expected = json_of(undisturbed.detol(words));
  Program stopped(tiny.path(), words);
  ASSERT_TRUE(stopped.says("of 300")) << stopped.wait().err;
  stopped.signal(SIGTERM);
  EXPECT_EQ(stopped.wait().code, 75);
  EXPECT_EQ(json_of(tiny.detol(words)), expected);
  EXPECT_EQ(tiny.query("SELECT count(*) AS n FROM v_models WHERE kind = 'ensembled'")[0]["n"], 1);
}

TEST(Distill, SaysInALineWhatItCannotDo) {
  const Searched tiny;
  json_of(tiny.detol({"retrain", "tiny", "-f", "json"}));
  const auto expect_error = [&](const Words& words, int code, const std::string& text) {
    const Ran ran = tiny.detol(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  };
  expect_error({"ensemble", "tiny", "--epochs", "3"}, 2, "--distill");
  expect_error({"ensemble", "tiny", "--distill", "--model", "2"}, 2, "model 2 is no ensemble");
  expect_error({"ensemble", "tiny", "--distill", "--model", "9"}, 6, "9");
  expect_error({"ensemble", "tiny", "--distill", "--trial", "77"}, 6, "77");
  expect_error({"ensemble", "tiny", "--distill", "--seeds", "0"}, 2, "seeds");
  EXPECT_EQ(tiny.query("SELECT count(*) AS n FROM v_models WHERE kind = 'ensembled'")[0]["n"], 0);
}

}  // namespace
}  // namespace detol

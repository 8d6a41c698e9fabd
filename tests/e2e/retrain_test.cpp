// Models that are trained again after a search, and what may happen to them meanwhile.

#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "core/hash.h"
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
using testing_support::TinyStudy;

using Words = std::vector<std::string>;

Words retrain(const Words& more) {
  Words words = {"retrain", "tiny", "--trial", "0", "-f", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Expects one line that says this, and that exit code.
void expect_error(const Ran& ran, int code, const std::string& text) {
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
}

// Returns the weights of a model: its safetensors file without the header, which names the data.
std::string weights_of(const TinyStudy& study, const std::string& model) {
  const Ran ran =
      study.detol({"export", "tiny", "--model", model, "--to", "safetensors", "--verify"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string file = text_of(study.path() / ("tiny-model" + model + ".safetensors"));
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  return testing::PrintToString(hash64(file.substr(sizeof header + header)));
}

std::vector<std::string> checkpoints_of(const TinyStudy& study, const std::string& model) {
  return testing_support::listing(study.path() / "detol.db.d/tiny/models" / model);
}

TEST(Retrain, GivesModelsOfEachSeedWithTestMetricsAndTheirSpread) {
  const Searched tiny;
  const Ran ran = tiny.detol(retrain({"--seeds", "3"}));
  const json models = json_of(ran);
  ASSERT_EQ(models.size(), 3u);
  std::set<std::int64_t> seeds;
  for (const json& model : models) {
    EXPECT_EQ(model["state"], "COMPLETE");
    EXPECT_EQ(model["epochs"], 3);
    const double score = model["test"]["test_accuracy"];
    EXPECT_LE(model["test_interval"]["test_accuracy"][0], score);
    EXPECT_GE(model["test_interval"]["test_accuracy"][1], score);
    EXPECT_TRUE(model["values"].contains("val_accuracy"));
    seeds.insert(model["seed"].get<std::int64_t>());
  }
  EXPECT_EQ(seeds.size(), 3u);
  EXPECT_NE(last_line(ran.err).find("of 3 models: test_accuracy"), std::string::npos) << ran.err;
  EXPECT_NE(last_line(ran.err).find("±"), std::string::npos);
  EXPECT_EQ(tiny.query("SELECT model FROM v_models WHERE kind = 'retrained' AND trial = 0 AND "
                       "state = 'COMPLETE' AND first = 2")
                .size(),
            3u);
}

TEST(Retrain, GivesModelsThatPredictAndWhoseCardsHaveTheirSpread) {
  const Searched tiny;
  json_of(tiny.detol(retrain({"--seeds", "2"})));
  ASSERT_EQ(tiny.detol({"export", "tiny", "--model", "2", "--to", "onnx"}).code, 0);
  const std::string card = text_of(tiny.path() / "tiny-model2.md");
  EXPECT_NE(card.find("standard deviation of 2 models with other seeds: test_accuracy "),
            std::string::npos)
      << card;
  const std::string images = "data/t10k-images-idx3-ubyte";
  const Ran answer = tiny.detol({"predict", "tiny", "--model", "2", "--data", images});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(tiny.detol({"predict", "tiny-model2.onnx", "--data", images}).out, answer.out);
  EXPECT_NE(tiny.detol({"predict", "tiny", "--model", "3", "--data", images}).out, answer.out);
}

TEST(Retrain, OfEqualStudiesGivesEqualModelsForAnyNumberOfWorkers) {
  const Searched one, other;
  EXPECT_EQ(json_of(one.detol(retrain({"--seeds", "2", "-j", "1"}))),
            json_of(other.detol(retrain({"--seeds", "2", "-j", "2"}))));
  EXPECT_EQ(weights_of(one, "3"), weights_of(other, "3"));
}

TEST(Retrain, IsKnownToNoSearchAndNoBudget) {
  const Searched tiny, plain;
  json_of(tiny.detol(retrain({"--epochs", "20"})));
  EXPECT_EQ(json_of(tiny.detol({"best", "tiny", "-f", "json"}))["trial"],
            json_of(plain.detol({"best", "tiny", "-f", "json"}))["trial"]);
  for (const TinyStudy* study : {&tiny, &plain})
    ASSERT_EQ(study->detol({"resume", "tiny", "--budget", "9trials", "--workers", "1"}).code, 0);
  EXPECT_EQ(tiny.results(), plain.results());
}

TEST(Retrain, LeavesOneCheckpointThatNoSearchRemoves) {
  const Searched tiny;
  json_of(tiny.detol(retrain({})));
  EXPECT_EQ(checkpoints_of(tiny, "2"), Words{"epoch-3.a1.ckpt"});
  const std::string before = weights_of(tiny, "2");
  ASSERT_EQ(tiny.detol({"resume", "tiny", "--budget", "30trials", "--workers", "1"}).code, 0);
  EXPECT_EQ(weights_of(tiny, "2"), before);
  ASSERT_EQ(tiny.detol({"study", "copy", "tiny", "other"}).code, 0);
  ASSERT_EQ(tiny.detol({"study", "delete", "tiny", "--yes"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(tiny.path() / "detol.db.d/tiny"));
  EXPECT_EQ(tiny.detol({"export", "other", "--model", "2", "--to", "onnx", "--verify"}).code, 0);
}

TEST(Retrain, OnValidationDataTooHasNoValidationMetrics) {
  const Searched tiny;
  const json models = json_of(tiny.detol(retrain({"--on", "train+validation"})));
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["trained_on"], "train+validation");
  EXPECT_FALSE(models[0]["values"].contains("val_accuracy"));
  EXPECT_TRUE(models[0]["values"].contains("train_loss"));
  EXPECT_TRUE(models[0]["test"].contains("test_accuracy"));
}

TEST(Retrain, OnValidationDataTooStopsAfterTheTrialsBestEpoch) {
  const Searched tiny;
  const json past = tiny.query(
      "SELECT trial, best_epoch, epochs FROM v_trials "
      "WHERE best_epoch < epochs ORDER BY trial LIMIT 1");
  ASSERT_EQ(past.size(), 1u) << "a trial whose last epoch is not its best";
  const std::string trial = std::to_string(past[0]["trial"].get<int>());
  const Words again = {"retrain",          "tiny", "--trial", trial, "--on",
                       "train+validation", "-f",   "json"};
  const json models = json_of(tiny.detol(again));
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["epochs"], past[0]["best_epoch"]);
  EXPECT_EQ(tiny.detol({"export", "tiny", "--model", "1", "--to", "onnx", "--verify"}).code, 0);
  Words longer = again;
  longer.insert(longer.end(), {"--epochs", "3"});
  EXPECT_EQ(json_of(tiny.detol(longer))[0]["epochs"], 3);
}

TEST(Retrain, FromTheCheckpointGoesOnAfterWhatTheTrialHasDone) {
  const Searched tiny;
  const json best = json_of(tiny.detol({"best", "tiny", "-f", "json"}));
  const std::string id = std::to_string(best["trial"].get<int>());
  const Words again = {"retrain", "tiny", "--trial", id, "--from", "checkpoint", "-f", "json"};
  expect_error(tiny.detol(again), 2, "--epochs must be more");
  Words longer = again;
  longer.insert(longer.end(), {"--epochs", "5"});
  const Ran ran = tiny.detol(longer);
  const json models = json_of(ran);
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["began_from"], "checkpoint");
  EXPECT_EQ(models[0]["epochs"], 5);
  EXPECT_EQ(ran.err.find("epoch 3 of"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("epoch 4 of 5"), std::string::npos) << ran.err;
}

TEST(Retrain, ThatWasStoppedAndKilledEndsWithTheBitsOfAnUndisturbedOne) {
  const Searched tiny, undisturbed;
  const Words words = retrain({"--epochs", "40", "--seeds", "2"});
  const json expected = json_of(undisturbed.detol(words));
  {
    Program stopped(tiny.path(), words);
    ASSERT_TRUE(stopped.says("epoch 1 of 40")) << stopped.wait().err;
    stopped.signal(SIGTERM);
    const Ran ran = stopped.wait();
    EXPECT_EQ(ran.code, 75) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(tiny.query("SELECT model FROM v_models WHERE state = 'TRAINING'").size(), 2u);
  {
    Program killed(tiny.path(), words);
    ASSERT_TRUE(killed.says("of 40")) << killed.wait().err;
    killed.kill_everything();
  }
  EXPECT_EQ(json_of(tiny.detol(words)), expected);
  EXPECT_EQ(weights_of(tiny, "2"), weights_of(undisturbed, "2"));
  EXPECT_EQ(weights_of(tiny, "3"), weights_of(undisturbed, "3"));
  EXPECT_EQ(tiny.detol({"db", "check"}).code, 0);
}

// The fault ends every process at once, whichever is the first to get there.
TEST(Retrain, ThatIsKilledAnywhereEndsWithTheBitsOfAnUndisturbedOne) {
  const Searched undisturbed;
  const Words words = retrain({"--seeds", "1"});
  const json expected = json_of(undisturbed.detol(words));
  const Searched tiny;
  for (const char* fault : {"ledger.append:1:kill", "checkpoint.write:1:kill", "train.epoch:2:kill",
                            "ledger.commit:2:kill"}) {
    const Environment set("DETOL_FAULT", fault);
    const Environment once("DETOL_FAULT_MARK", (tiny.path() / fault).string());
    tiny.detol(words);
  }
  const json models = json_of(tiny.detol({"test", "tiny", "--model", "2", "-f", "json"}));
  EXPECT_EQ(models["test"], expected[0]["test"]);
  EXPECT_EQ(weights_of(tiny, "2"), weights_of(undisturbed, "2"));
}

// Waits for ever if one is left.
TEST(Retrain, ThatIsKilledLeavesNoProcess) {
  const Searched tiny;
  const Words words = retrain({"--epochs", "50000", "--seeds", "2"});
  Program killed(tiny.path(), words);
  ASSERT_TRUE(killed.says("of 50000")) << killed.wait().err;
  killed.signal(SIGKILL);
  killed.wait();
  while (!testing_support::processes_in(tiny.path()).empty()) {
  }
}

TEST(Retrain, ASecondSignalEndsItAtOnce) {
  const Searched tiny;
  const std::filesystem::path mark = tiny.path() / "mark";
  Program stopped(tiny.path(), retrain({"--epochs", "50000", "--seeds", "2"}),
                  {"DETOL_FAULT=train.step:9:hang", "DETOL_FAULT_MARK=" + mark.string()});
  while (!std::filesystem::exists(mark) && !stopped.ends_within(0)) {
  }
  stopped.signal(SIGINT);
  ASSERT_TRUE(stopped.says("stopping")) << stopped.wait().err;
  stopped.signal(SIGINT);
  EXPECT_EQ(stopped.wait().code, 130);
  while (!testing_support::processes_in(tiny.path()).empty()) {
  }
}

TEST(Retrain, StartsAProcessAgainThatWasKilled) {
  const Searched tiny, undisturbed;
  const json expected = json_of(undisturbed.detol(retrain({"--seeds", "2"})));
  const Environment fault("DETOL_FAULT", "train.epoch:2:kill");
  const Environment once("DETOL_FAULT_MARK", (tiny.path() / "mark").string());
  EXPECT_EQ(json_of(tiny.detol(retrain({"--seeds", "2"}))), expected);
  EXPECT_TRUE(std::filesystem::exists(tiny.path() / "mark"));
}

TEST(Retrain, StartsATrainingAgainThatStandsStill) {
  const Searched tiny, undisturbed;
  const json expected = json_of(undisturbed.detol(retrain({})));
  const Environment fault("DETOL_FAULT", "train.step:5:hang");
  const Environment once("DETOL_FAULT_MARK", (tiny.path() / "mark").string());
  const Environment patience("DETOL_TEST_PATIENCE", "0.05");
  const Ran ran = tiny.detol(retrain({}));
  EXPECT_EQ(json_of(ran), expected);
  EXPECT_NE(ran.err.find("started again: it made no progress"), std::string::npos) << ran.err;
}

TEST(Retrain, RecordsASeedThatFailsBesideTheOthers) {
  const Searched tiny;
  const Environment fault("DETOL_FAULT", "train.step:3:nan");
  const Environment once("DETOL_FAULT_MARK", (tiny.path() / "mark").string());
  const Ran ran = tiny.detol(retrain({"--seeds", "2", "-j", "1"}));
  const json models = json_of(ran);
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0]["state"], "FAIL");
  EXPECT_EQ(models[0]["failure"], "diverged");
  EXPECT_EQ(models[1]["state"], "COMPLETE");
  EXPECT_NE(ran.err.find("model 2 failed: diverged: the training loss is nan"), std::string::npos)
      << ran.err;
  expect_error(tiny.detol({"test", "tiny", "--model", "2"}), 6,
               "failed: diverged: the training loss is nan");
  expect_error(tiny.detol({"export", "tiny", "--model", "2", "--to", "onnx"}), 6, "diverged");
}

TEST(Retrain, EndsWithEightIfEveryModelFails) {
  const Searched tiny;
  const Environment fault("DETOL_FAULT", "train.epoch:1:kill");
  const Ran ran = tiny.detol(retrain({}));
  EXPECT_EQ(ran.code, 8) << ran.err;
  const json models = tiny.query(
      "SELECT state, failure, reason FROM v_models WHERE kind = "
      "'retrained'");
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["state"], "FAIL");
  EXPECT_EQ(models[0]["failure"], "crashed");
  EXPECT_EQ(models[0]["reason"], "its process ended with signal 9; 3 times in a row");
}

TEST(Retrain, SaysInALineWhatItCannotDo) {
  const Searched tiny;
  expect_error(tiny.detol({"retrain", "none"}), 4, "unknown study 'none'");
  expect_error(tiny.detol({"retrain", "tiny", "--trial", "99"}), 6, "no trial 99");
  expect_error(tiny.detol({"retrain", "tiny", "--epochs", "0"}), 2, "epochs is '0'");
  expect_error(tiny.detol({"retrain", "tiny", "--seeds", "1001"}), 2, "at most 1000");
  expect_error(tiny.detol({"retrain", "tiny", "--on", "test"}), 2, "train+validation");
  expect_error(tiny.detol({"retrain", "tiny", "-j", "0"}), 2, "workers is 0");
  expect_error(tiny.detol({"test", "tiny", "--model", "9"}), 6, "no model 9");
  expect_error(tiny.detol({"test", "tiny", "--model", "1", "--trial", "0"}), 2, "exclude");
  EXPECT_EQ(tiny.query("SELECT count(*) AS count FROM v_models")[0]["count"], 1);
}

TEST(Retrain, IsRefusedWhileTheStudyRunsAndKeepsOthersFromIt) {
  const Searched tiny;
  const Words words = retrain({"--epochs", "5000"});
  Program running(tiny.path(), words);
  ASSERT_TRUE(running.says("of 5000")) << running.wait().err;
  const std::string pid = "process " + std::to_string(running.pid());
  expect_error(tiny.detol(words), 5, pid);
  EXPECT_EQ(tiny.detol({"resume", "tiny", "--budget", "9trials"}).code, 5);
  running.kill_everything();
}

TEST(Retrain, GivesNoOtherWeightsThanThoseThatWereTested) {
  const Searched tiny;
  json_of(tiny.detol(retrain({"--seeds", "2"})));
  const std::filesystem::path models = tiny.path() / "detol.db.d/tiny/models";
  const Words words = {"export", "tiny", "--model", "2", "--to", "onnx"};
  std::filesystem::copy_file(models / "3/epoch-3.a1.ckpt", models / "2/epoch-3.a1.ckpt",
                             std::filesystem::copy_options::overwrite_existing);
  expect_error(tiny.detol(words), 7, "other metrics than were recorded");
  std::filesystem::remove_all(models / "2");
  expect_error(tiny.detol(words), 7, "model 2 is not here as it was tested");
}

}  // namespace
}  // namespace detol

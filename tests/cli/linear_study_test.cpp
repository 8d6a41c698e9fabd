// The commands over networks whose answers are known: what they are worth on the data, what they
// answer, and what is made of them.

#include "tests/models/linear_study.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "models/ensembles.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

using Labels = std::vector<std::string>;

// RetrainedLine has no test that runs a network in this process before it trains in others.
class RetrainedLine : public testing_support::CommandsOn<testing_support::LinearStudy> {
 protected:
  // Retrains in a process of its own, on the CPU: to look for GPUs, this program would start
  // itself. Returns all models.
  Json retrain(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {"retrain", "lin", "--device", "cpu", "-j", "1"});
    const pid_t child = ::fork();
    if (child == 0) ::_exit(run(std::move(words)).code ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return json({"query", "SELECT * FROM v_models ORDER BY model"});
  }
};

TEST_F(RetrainedLine, OnAllDataTrainsUntilTheEpochThatGaveTheValue) {
  write_study({{.epochs = 3, .best_epoch = 2}});
  retrain({"--on", "train+validation"});
  retrain();
  const Json models = retrain({"--on", "train+validation", "--epochs", "5"});
  EXPECT_EQ(models[0]["epochs"], 2);
  EXPECT_EQ(models[1]["epochs"], 3);
  EXPECT_EQ(models[2]["epochs"], 5);
}

TEST_F(RetrainedLine, IsAModelWithANumberAndASeedOfItsOwn) {
  write_study({{}});
  retrain({"--seeds", "2"});
  const Json models = retrain();
  ASSERT_EQ(models.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(models[i]["model"], i + 1);
  EXPECT_NE(models[0]["seed"], models[1]["seed"]);
  EXPECT_NE(models[0]["seed"], models[2]["seed"]);
}

TEST_F(RetrainedLine, GoesOnWithTheModelOfAnEqualCommandAlone) {
  write_study({{}});
  const auto stopped = [](std::int64_t number, const char* trained_on) {
    return Event(event::Model{.model = number,
                              .kind = ModelKind::kRetrained,
                              .state = ModelState::kTraining,
                              .epochs = 3,
                              .trained_on = trained_on,
                              .began_from = "scratch",
                              .first = number,
                              .folder = "models/" + std::to_string(number)});
  };
  ASSERT_TRUE(Ledger::open(storage()).value()->append(
      1, std::vector<Event>{stopped(1, "train"), stopped(2, "train+validation")}));
  EXPECT_EQ(retrain({"--epochs", "4"}).size(), 3u);
  const Json models = retrain({"--epochs", "3"});
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0]["state"], "COMPLETE");
  EXPECT_EQ(models[1]["state"], "TRAINING");
  EXPECT_EQ(retrain({"--epochs", "3"}).size(), 4u);
}

TEST_F(RetrainedLine, ThatHasSeenTheValidationPartChoosesNoThresholdByIt) {
  write_study({{}});
  retrain({"--on", "train+validation"});
  const Answer answer = run({"test", "lin", "--model", "1", "--threshold", "accuracy"});
  ASSERT_FALSE(answer.code);
  EXPECT_EQ(answer.code.error().code, ErrorCode::kUsage);
  EXPECT_TRUE(run({"test", "lin", "--model", "1", "--threshold", "0.7"}).code);
}

TEST_F(RetrainedLine, IsExportedUnderItsNumber) {
  write_study({{}});
  retrain({"--seeds", "2"});
  const Json files =
      json({"export", "lin", "--model", "2", "--to", "safetensors", "-o", path("out")});
  EXPECT_EQ(files[0]["file"], path("out/lin-model2.safetensors"));
}

TEST_F(RetrainedLine, VotesAsMuchAsTheOthersThatAllDataTrained) {
  write_study({{}});
  retrain({"--on", "train+validation", "--seeds", "4"});
  const Json ensemble = json({"ensemble", "lin", "--on", "train+validation"});
  EXPECT_EQ(ensemble["members"], "model 1 x 0.25, model 2 x 0.25, model 3 x 0.25, model 4 x 0.25");
}

class LinearNetwork : public testing_support::CommandsOn<testing_support::LinearStudy> {
 protected:
  Labels labels(std::vector<std::string> words) const {
    Labels found;
    for (const Json& row : json(std::move(words))) found.push_back(row["label"]);
    return found;
  }
};

TEST_F(LinearNetwork, IsTestedOnTheTestPart) {
  write_study({{.slope = 1}, {.slope = -1}, {.slope = 100, .offset = -45}});
  EXPECT_EQ(json({"test", "lin", "--trial", "0"})["test"]["test_accuracy"], 3.0 / 5);
  EXPECT_EQ(json({"test", "lin", "--trial", "1"})["test"]["test_accuracy"], 2.0 / 5);
  EXPECT_EQ(json({"test", "lin", "--trial", "2"})["test"]["test_accuracy"], 1.0);
}

TEST_F(LinearNetwork, IsTestedAgainOnceItsBestEpochIsAnother) {
  write_study({{.slope = 1}});
  EXPECT_EQ(json({"test", "lin"})["test"]["test_accuracy"], 3.0 / 5);
  report(*Ledger::open(storage()).value(), 0, {.slope = 100, .offset = -45, .best_epoch = 2}, 2);
  EXPECT_EQ(json({"test", "lin"})["test"]["test_accuracy"], 1.0);
  EXPECT_EQ(json({"best", "lin"})["test"]["test_accuracy"], 1.0);
  EXPECT_EQ(json({"query", "SELECT model FROM v_models"}).size(), 2u);
}

TEST_F(LinearNetwork, PredictsWithTheProbabilitiesOfItsLogits) {
  write_study({{.slope = 2, .offset = -1}});
  const std::vector<double> xs = {0, 1, 3, -2};
  const Json rows = json({"predict", "lin", "--data", records(xs)});
  ASSERT_EQ(rows.size(), xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double yes = 1 / (1 + std::exp(-(2 * xs[i] - 1)));
    EXPECT_EQ(rows[i]["label"], yes > 0.5 ? "yes" : "no");
    EXPECT_NEAR(rows[i]["probabilities"]["yes"].get<double>(), yes, 1e-6);
    EXPECT_NEAR(rows[i]["probabilities"]["no"].get<double>(), 1 - yes, 1e-6);
  }
}

TEST_F(LinearNetwork, AnswersEveryRecordOfALongFile) {
  write_study({{}});
  std::vector<double> xs;
  Labels expected;
  for (int i = 0; i < 3000; ++i) {
    xs.push_back(i % 7 < 3 ? -1 : 1);
    expected.push_back(i % 7 < 3 ? "no" : "yes");
  }
  EXPECT_EQ(labels({"predict", "lin", "--data", records(xs)}), expected);
}

// 0.88 is the probability of a logit of 2.
TEST_F(LinearNetwork, DecidesByTheThresholdThatItIsGivenOrWasExportedWith) {
  write_study({{}});
  const std::string file = records({-1, 1, 1.9, 2.1});
  EXPECT_EQ(labels({"predict", "lin", "--data", file}), (Labels{"no", "yes", "yes", "yes"}));
  EXPECT_EQ(labels({"predict", "lin", "--data", file, "--threshold", "0.88"}),
            (Labels{"no", "no", "no", "yes"}));
  EXPECT_EQ(labels({"predict", "lin", "--data", file, "--threshold", "0.1"}),
            (Labels{"yes", "yes", "yes", "yes"}));
  const Json written =
      json({"export", "lin", "--to", "safetensors", "--threshold", "0.88", "-o", path("out")});
  EXPECT_EQ(written[0]["file"], path("out/lin-trial0.safetensors"));
  EXPECT_EQ(labels({"predict", written[0]["file"], "--data", file}),
            (Labels{"no", "no", "no", "yes"}));
}

// Above x = 0.5 all is "yes" in validation: of the test part that is wrong for one record.
TEST_F(LinearNetwork, ChoosesAThresholdOnTheValidationPart) {
  write_study({{}});
  const Json test = json({"test", "lin", "--threshold", "accuracy"});
  EXPECT_EQ(test["test"]["test_accuracy"], 4.0 / 5);
  EXPECT_GT(test["threshold"], 1 / (1 + std::exp(-0.5)));
  EXPECT_LT(test["threshold"], 1 / (1 + std::exp(-1.0)));
  EXPECT_EQ(labels({"predict", "lin", "--data", records({0.4, 1}), "--threshold", "accuracy"}),
            (Labels{"no", "yes"}));
}

// A line that is wrong everywhere has no vote beside one that is right.
TEST_F(LinearNetwork, VotesIfItHelpsTheOthers) {
  write_study({{.slope = -3, .accuracy = 0.9}, {.slope = 3, .offset = -2}});
  EXPECT_EQ(json({"ensemble", "lin"})["members"], "1 x 1");
  EXPECT_EQ(json({"ensemble", "lin", "--candidates", "1"})["members"], "0 x 1");
}

TEST(EnsembleOfARequest, IsOfItsSizeCandidatesAndData) {
  const event::Model made{.kind = ModelKind::kEnsembled,
                          .trained_on = "train",
                          .settings = R"({"size": 8, "candidates": 50})"};
  EXPECT_TRUE(is_of_request(made, {.size = 8, .candidates = 50}));
  EXPECT_FALSE(is_of_request(made, {.size = 9, .candidates = 50}));
  EXPECT_FALSE(is_of_request(made, {.size = 8, .candidates = 51}));
  EXPECT_FALSE(is_of_request(made, {.size = 8, .candidates = 50, .is_of_all_data = true}));
}

}  // namespace
}  // namespace detol

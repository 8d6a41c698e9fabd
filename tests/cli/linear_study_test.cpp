// The commands over networks whose answers are known: what they are worth on the data, what they
// answer, and what is made of them.

#include "tests/models/linear_study.h"

#include <cmath>

#include "tests/cli/command_on_base.h"
#include "tests/support/in_child.h"

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
    testing_support::in_child([&] { EXPECT_TRUE(run(std::move(words)).code); });
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

TEST_F(LinearNetwork, IsTestedAgainOnceItsBestEpochIsAnother) {
  write_study({{.slope = 1}});
  EXPECT_EQ(json({"test", "lin"})["test"]["test_accuracy"], 3.0 / 5);
  report(*Ledger::open(storage()).value(), 0, {.slope = 100, .offset = -45, .best_epoch = 2}, 2);
  EXPECT_EQ(json({"test", "lin"})["test"]["test_accuracy"], 1.0);
  EXPECT_EQ(json({"best", "lin"})["test"]["test_accuracy"], 1.0);
  EXPECT_EQ(json({"query", "SELECT model FROM v_models"}).size(), 2u);
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

}  // namespace
}  // namespace detol

// Tasks other than one class of K, from a table to the exported network.

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

constexpr const char* kSpace = R"(version: 1
study: told
seed: 3
data: {format: csv, path: t.csv, task: TASK, split: {validation: 0.25}}
architecture:
  type: chain
  stem: {op: none}
  stages: [{channels: {type: categorical, choices: [8, 16]}, stride: 1, block: {op: dense, norm: none}}]
  head: {op: flatten_linear}
parameters: {lr: {type: float, low: 1.0e-2, high: 5.0e-2, log: true}, batch_size: 16}
training: {epochs: 20}
objectives: [{metric: val_loss, direction: minimize}]
search: {algorithm: random}
budget: 3trials
)";

class Task : public testing::Test {
 protected:
  void write_space(const std::string& task) const {
    std::string space = kSpace;
    space.replace(space.find("TASK"), 4, task);
    write_bytes(folder_.path() / "t.yaml", space);
  }

  // Writes records of two numbers and their targets.
  void write_table(const std::string& header,
                   const std::function<std::string(int record)>& target_of) const {
    std::string text = header;
    for (int i = 0; i < 240; ++i)
      text += std::to_string(a(i)) + "," + std::to_string(b(i)) + "," + target_of(i) + "\n";
    write_bytes(folder_.path() / "t.csv", text);
  }
  static int a(int record) { return record * 7 % 13 - 6; }
  static int b(int record) { return record * 5 % 11 - 5; }

  Ran search(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"search", "--space", "t.yaml", "-j", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return detol(words);
  }

  Ran detol(const std::vector<std::string>& words) const { return run(folder_.path(), words); }

  Json best() const {
    const Ran ran = detol({"best", "told", "-f", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out, nullptr, false);
  }

  // Exports the best trial in every format, verifies it, and returns its JSON.
  Json exported() const {
    const Ran ran = detol({"export", "told", "--to", "all", "-o", "out", "--verify"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (const std::string& file : listing(folder_.path() / "out")) {
      if (file.ends_with(".json"))
        return Json::parse(text_of(folder_.path() / "out" / file), nullptr, false);
    }
    return {};
  }

  TempFolder folder_;
};

std::vector<std::string> goal(const std::string& metric, const std::string& direction) {
  return {"--set", "objectives[0].metric=" + metric, "--set",
          "objectives[0].direction=" + direction};
}

// The targets lie around 5000, in steps of 50.
TEST_F(Task, ARegressionIsScoredAndExportedInTheUnitsOfItsFile) {
  write_space("regression");
  write_table("", [](int i) { return std::to_string(5000 + 100 * a(i) - 50 * b(i)); });
  const Ran ran = search(goal("val_rmse", "minimize"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json values = best().at("values");
  EXPECT_GT(values.at("val_rmse"), 0.01);
  EXPECT_LT(values.at("val_rmse"), 100);
  EXPECT_GT(values.at("val_r2"), 0.9);
  const Json model = exported();
  EXPECT_EQ(model.at("task"), "regression");
  double sum = 0;
  const Json& predictions = model.at("check").at("prediction");
  for (const Json& prediction : predictions) sum += prediction.at(0).get<double>();
  EXPECT_NEAR(sum / static_cast<double>(predictions.size()), 5000, 200);
}

TEST_F(Task, SeveralNumbersArePredictedAtOnce) {
  write_space("regression");
  write_table("x,y,large,small\n", [](int i) {
    return std::to_string(1000 * a(i)) + "," + std::to_string(0.01 * b(i));
  });
  const Ran ran = search({"--set", "data.label=[large, small]", "--set", "training.loss=huber"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json model = exported();
  EXPECT_EQ(model.at("classes"), Json({"large", "small"}));
  for (const Json& prediction : model.at("check").at("prediction"))
    EXPECT_LT(std::abs(prediction.at(1).get<double>()), 0.2);
}

TEST_F(Task, ABinaryTaskIsRankedByItsAuc) {
  write_space("binary");
  write_table("", [](int i) { return std::string(a(i) > b(i) ? "yes" : "no"); });
  const Ran ran = search(goal("val_auc", "maximize"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(best().at("value"), 0.9);
  const Json model = exported();
  EXPECT_EQ(model.at("classes"), Json({"no", "yes"}));
  EXPECT_EQ(model.at("check").at("logits").at(0).size(), 1u);
}

// Of the records with the largest y, two of five are of the rare class, and no others: the class is
// never the more probable one, and found where it counts more.
TEST_F(Task, ARareClassIsFoundByWeightsOrByAThreshold) {
  write_space("classification");
  write_table("x,y,fraud\n",
              [](int i) { return std::string(b(i) == 5 && i % 5 < 2 ? "yes" : "no"); });
  const auto balanced_accuracy = [&](const std::vector<std::string>& words) {
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out, nullptr, false).at("test").at("test_balanced_accuracy");
  };
  const std::vector<std::string> split = {
      "--set", "data.split={validation: 0.25, test: 0.25, by: stratified}"};
  ASSERT_EQ(search(split).code, 0);
  const std::vector<std::string> test = {"test", "told", "-f", "json"};
  EXPECT_EQ(balanced_accuracy(test), 0.5);
  EXPECT_GT(balanced_accuracy({"test", "told", "--threshold", "balanced_accuracy", "-f", "json"}),
            0.6);
  EXPECT_EQ(balanced_accuracy(test), 0.5) << "nothing was recorded";
  const Ran always = detol({"test", "told", "--threshold", "0.000001", "-f", "json"});
  EXPECT_EQ(Json::parse(always.out, nullptr, false).at("test").at("test_balanced_accuracy"), 0.5);
  const Ran file = detol({"export", "told", "--to", "onnx", "--threshold", "0.25", "--verify"});
  ASSERT_EQ(file.code, 0) << file.err;
  const std::string name = Json::parse(detol({"best", "told", "-f", "json"}).out)["trial"].dump();
  const Ran by_file = detol({"predict", "told-trial" + name + ".onnx", "--data", "t.csv"});
  const Ran by_study = detol({"predict", "told", "--threshold", "0.25", "--data", "t.csv"});
  ASSERT_EQ(by_file.code, 0) << by_file.err;
  EXPECT_EQ(by_file.out, by_study.out);
  EXPECT_NE(by_file.out, detol({"predict", "told", "--data", "t.csv"}).out);

  std::vector<std::string> weighted = split;
  weighted.insert(weighted.end(),
                  {"--set", "training.class_weights=balanced", "--set", "study=fair"});
  ASSERT_EQ(search(weighted).code, 0);
  EXPECT_GT(balanced_accuracy({"test", "fair", "-f", "json"}), 0.6);
}

TEST_F(Task, WhatAThresholdCannotDoIsSaidInALine) {
  write_space("regression");
  write_table("", [](int i) { return std::to_string(a(i)); });
  ASSERT_EQ(search({}).code, 0);
  const auto expect_error = [&](const std::vector<std::string>& words, const std::string& text) {
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  };
  for (const char* bad : {"0", "1", "nan", "auc", "0.5x", ""})
    expect_error({"test", "told", "--threshold", bad}, "balanced_accuracy");
  expect_error({"export", "told", "--to", "onnx", "--threshold", "0.3"}, "two classes or labels");
  expect_error({"predict", "told", "--data", "t.csv", "--threshold", "f1"},
               "two classes or labels");
  write_space("binary");
  const Ran ran = search({"--set", "training.class_weights=balanced", "--set", "study=none"});
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("training.class_weights: data.task binary has none"), std::string::npos)
      << ran.err;
}

TEST_F(Task, EachOfSeveralLabelsIsThereOrNot) {
  write_space("multi_label");
  write_table("a,b,big,high\n", [](int i) {
    return std::string(a(i) + b(i) > 0 ? "1," : "0,") + (b(i) > 0 ? "1" : "0");
  });
  std::vector<std::string> words = goal("val_f1", "maximize");
  words.insert(words.end(), {"--set", "data.label=[big, high]"});
  const Ran ran = search(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(best().at("value"), 0.8);
  const Json model = exported();
  EXPECT_EQ(model.at("task"), "multi_label");
  EXPECT_EQ(model.at("check").at("logits").at(0).size(), 2u);
}

// Only one record is of the second class, and it is in the training part: the validation part has
// one class, so that its AUC is not defined.
TEST_F(Task, AnObjectiveThatIsNoNumberIsNeverTheBest) {
  write_space("binary");
  bool is_trained_on = false;
  for (int only = 0; only < 20 && !is_trained_on; ++only) {
    write_table("", [&](int record) { return std::string(record == only ? "yes" : "no"); });
    is_trained_on = detol({"validate", "--space", "t.yaml"}).code == 0;
  }
  ASSERT_TRUE(is_trained_on);
  const Ran ran = search(goal("val_auc", "maximize"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(detol({"best", "told"}).code, 6) << "there is none";
  EXPECT_EQ(ran.err.find("best val_auc"), std::string::npos) << ran.err;
  EXPECT_EQ(detol({"export", "told", "--to", "onnx"}).code, 6);
}

}  // namespace
}  // namespace detol::testing_support

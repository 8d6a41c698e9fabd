// Tests the tasks of data sets: regression, multi_label and binary.

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

class TaskData : public testing::Test {
 protected:
  DataConfig config(const std::string& text, TaskKind task,
                    std::vector<std::string> labels = {}) const {
    std::ofstream(path()) << text;
    return {.format = "csv", .path = path(), .task = task, .labels = std::move(labels)};
  }
  std::string path() const { return (folder_.path() / "t.csv").string(); }
  std::string error_of(const DataConfig& data) const {
    const auto loaded = load_dataset(data);
    std::string message = loaded ? "" : loaded.error().message;
    return message.starts_with(path()) ? message.substr(path().size()) : message;
  }

  // Returns the targets of one image, as the loss takes them.
  static std::vector<float> targets_of(const Dataset& data, std::int64_t image) {
    std::vector<std::int32_t> labels(1);
    std::vector<float> targets(static_cast<std::size_t>(data.info.task.classes));
    data.write_targets(image, 0, {.labels = labels, .targets = targets});
    return targets;
  }

  testing_support::TempFolder folder_;
};

// Returns ten records: x, then 10 x + 100 and -x.
std::string lines(const std::string& header = "") {
  std::string text = header;
  for (int x = 0; x < 10; ++x)
    text +=
        std::to_string(x) + "," + std::to_string(10 * x + 100) + "," + std::to_string(-x) + "\n";
  return text;
}

TEST_F(TaskData, ARegressionHasNumbersInsteadOfLabels) {
  const Dataset data =
      load_dataset(config(lines("x,a,b\n"), TaskKind::kRegression, {"b", "a"})).value();
  EXPECT_EQ(data.info.task.kind, TaskKind::kRegression);
  EXPECT_EQ(data.info.task.classes, 2);
  EXPECT_EQ(data.info.task.input, (Shape{1, 1, 1}));
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"b", "a"}));
  EXPECT_TRUE(data.labels.empty());
  for (std::int64_t i = 0; i < 10; ++i) {
    const float x = data.values_of(i)[0];
    EXPECT_EQ(data.targets[static_cast<std::size_t>(2 * i)], -x);
    EXPECT_EQ(data.targets[static_cast<std::size_t>(2 * i + 1)], 10 * x + 100);
  }
}

TEST_F(TaskData, TargetsAreStandardisedByTheTrainingPart) {
  const Dataset data = load_dataset(config(lines(), TaskKind::kRegression)).value();
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < data.info.training; ++i) {
    const double target = targets_of(data, i)[0];
    sum += target;
    squares += target * target;
  }
  EXPECT_NEAR(sum, 0, 1e-5);
  EXPECT_NEAR(squares / static_cast<double>(data.info.training), 1, 1e-5);
}

TEST_F(TaskData, AFirstLineOfNumbersIsARecordOfARegression) {
  EXPECT_EQ(load_dataset(config(lines(), TaskKind::kRegression))->targets.size(), 10u);
  EXPECT_EQ(load_dataset(config(lines("x,a,b\n"), TaskKind::kRegression))->targets.size(), 10u);
}

TEST_F(TaskData, LabelsAreThereOrNot) {
  std::string text = "even,x,small\n";
  for (int x = 0; x < 20; ++x)
    text += std::to_string(1 - x % 2) + "," + std::to_string(x) + "," + (x < 10 ? "1\n" : "0\n");
  const Dataset data = load_dataset(config(text, TaskKind::kMultiLabel, {"even", "small"})).value();
  EXPECT_EQ(data.info.task.classes, 2);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"even", "small"}));
  for (std::int64_t i = 0; i < 20; ++i) {
    const int x = static_cast<int>(data.values_of(i)[0]);
    EXPECT_EQ(targets_of(data, i),
              (std::vector<float>{x % 2 == 0 ? 1.0F : 0.0F, x < 10 ? 1.0F : 0.0F}));
  }
}

TEST_F(TaskData, ABinaryTaskHasOneOutputForTwoClasses) {
  std::string text;
  for (int x = 0; x < 10; ++x) text += std::to_string(x) + (x % 2 == 0 ? ",even\n" : ",odd\n");
  const Dataset data = load_dataset(config(text, TaskKind::kBinary)).value();
  EXPECT_EQ(data.info.task.classes, 1);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"even", "odd"}));
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(targets_of(data, i)[0], static_cast<int>(data.values_of(i)[0]) % 2);
    EXPECT_EQ(data.labels[static_cast<std::size_t>(i)], targets_of(data, i)[0]);
  }
}

TEST_F(TaskData, TheTaskIsPartOfTheFingerprint) {
  std::string text;
  for (int x = 0; x < 20; ++x) text += std::to_string(x) + "," + std::to_string(x % 2) + "\n";
  const auto classes = inspect_dataset(config(text, TaskKind::kClassification)).value();
  const auto binary = inspect_dataset(config(text, TaskKind::kBinary)).value();
  const auto numbers = inspect_dataset(config(text, TaskKind::kRegression)).value();
  EXPECT_NE(classes.fingerprint, binary.fingerprint);
  EXPECT_NE(numbers.fingerprint, binary.fingerprint);
  EXPECT_EQ(binary.fingerprint, load_dataset(config(text, TaskKind::kBinary))->info.fingerprint);
}

TEST_F(TaskData, InspectingFindsWhatLoadingFinds) {
  std::string text = "x,y\n";
  for (int x = 0; x < 20; ++x) text += std::to_string(x) + ",3.5\n";
  const DataConfig constant = config(text, TaskKind::kRegression, {"y"});
  EXPECT_EQ(error_of(constant),
            ": target 'y' is 3.5 in every record to train on: there is nothing "
            "to learn; check data.label");
  EXPECT_EQ(path() + error_of(constant), inspect_dataset(constant).error().message);
}

TEST_F(TaskData, WhatDoesNotFitTheTaskIsSaid) {
  std::string constant;
  for (int x = 0; x < 20; ++x) constant += std::to_string(x) + ",1\n";
  EXPECT_EQ(error_of(config("1,2\n2,x\n", TaskKind::kRegression)),
            ":2:3: 'x' is not a finite number, as data.task regression needs one");
  EXPECT_EQ(error_of(config("1,1\n2,2\n", TaskKind::kMultiLabel)),
            ":2:3: '2' is neither 0 nor 1, as the labels of data.task multi_label are");
  EXPECT_EQ(error_of(config(constant, TaskKind::kRegression)),
            ": target 1 is 1 in every record to train on: there is nothing to learn; check "
            "data.label");
  EXPECT_EQ(error_of(config("x,y\n" + constant, TaskKind::kMultiLabel, {"y"})),
            ": the label 'y' is 1 in every record to train on: there is nothing to learn; check "
            "data.label");
  EXPECT_EQ(error_of(config("x,z,y\n1,1,2\n", TaskKind::kRegression, {"y", "last"})),
            ":1:5: data.label: the column 'last' is there twice");
  EXPECT_EQ(error_of(config("x,y\n1,1\n", TaskKind::kRegression, {"y", "x"})),
            ":1:1: 2 columns; there must be 2 labels and at least one more");
  std::string three;
  for (int x = 0; x < 30; ++x) three += std::to_string(x) + "," + std::to_string(x % 3) + "\n";
  EXPECT_EQ(error_of(config(three, TaskKind::kBinary)),
            ": 3 classes, but data.task binary has two; leave data.task out");
}

TEST_F(TaskData, AFormatOfClassLabelsTakesNoOtherTask) {
  EXPECT_EQ(error_of({.format = "idx", .path = folder_.path(), .task = TaskKind::kRegression}),
            "data.task regression: the format idx has class labels alone; accepted: "
            "classification, binary");
}

}  // namespace
}  // namespace detol

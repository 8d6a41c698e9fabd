// What a trained network answers for new inputs.

#include "models/predictions.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/models/linear_study.h"

namespace detol {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

Texts column(const Rows& rows, std::string_view name) {
  Texts texts;
  for (std::size_t row = 0; row < rows.rows.size(); ++row)
    texts.push_back(std::get<std::string>(cell(rows, row, name)));
  return texts;
}

class LinePredictions : public testing_support::LinearStudy {
 protected:
  Rows answer(PredictorName name, const std::vector<double>& xs) const {
    name.storage = storage();
    name.device = "cpu";
    const auto predictor = open_predictor(name);
    EXPECT_TRUE(predictor) << predictor.error().message;
    const auto reader = open_inputs(records(xs), predictor->preprocessing()).value();
    return predictor->answer(reader->next(5000).value()).value();
  }
  Texts labels(const PredictorName& name, const std::vector<double>& xs) const {
    return column(answer(name, xs), "label");
  }
};

TEST_F(LinePredictions, HaveTheProbabilitiesOfTheLogits) {
  write_study({{.slope = 2, .offset = -1}});
  const std::vector<double> xs = {0, 1, 3, -2};
  const Rows rows = answer({.model = "lin"}, xs);
  EXPECT_EQ(rows.columns, (Texts{"input", "label", "probabilities"}));
  ASSERT_EQ(rows.rows.size(), xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double yes = 1 / (1 + std::exp(-(2 * xs[i] - 1)));
    const Json shown = Json::parse(column(rows, "probabilities")[i]);
    EXPECT_EQ(column(rows, "input")[i], std::to_string(i + 1));
    EXPECT_EQ(column(rows, "label")[i], yes > 0.5 ? "yes" : "no");
    EXPECT_NEAR(shown["yes"].get<double>(), yes, 1e-6);
    EXPECT_NEAR(shown["no"].get<double>(), 1 - yes, 1e-6);
  }
}

TEST_F(LinePredictions, AreOfEveryRecordOfALongFile) {
  write_study({{}});
  std::vector<double> xs;
  Texts expected;
  for (int i = 0; i < 3000; ++i) {
    xs.push_back(i % 7 < 3 ? -1 : 1);
    expected.push_back(i % 7 < 3 ? "no" : "yes");
  }
  EXPECT_EQ(labels({.model = "lin"}, xs), expected);
  EXPECT_TRUE(labels({.model = "lin"}, {}).empty());
}

// 0.88 is the probability of a logit of 2.
TEST_F(LinePredictions, DecideByTheThreshold) {
  write_study({{}});
  const std::vector<double> xs = {-1, 1, 1.9, 2.1};
  EXPECT_EQ(labels({.model = "lin"}, xs), (Texts{"no", "yes", "yes", "yes"}));
  EXPECT_EQ(labels({.model = "lin", .threshold = ThresholdRequest{.value = 0.88}}, xs),
            (Texts{"no", "no", "no", "yes"}));
  EXPECT_EQ(labels({.model = "lin", .threshold = ThresholdRequest{.value = 0.1}}, xs),
            (Texts{"yes", "yes", "yes", "yes"}));
  EXPECT_EQ(labels({.model = "lin", .threshold = ThresholdRequest{.metric = "accuracy"}}, {0.4, 1}),
            (Texts{"no", "yes"}));
}

TEST_F(LinePredictions, AreOfTheBestTrialUnlessATrialOrAModelIsNamed) {
  write_study({{.slope = 1}, {.slope = -1, .accuracy = 0.9}});
  keep_line({.slope = 0, .offset = 3}, ModelKind::kRetrained, kOnTraining);
  EXPECT_EQ(labels({.model = "lin"}, {-1, 1}), (Texts{"yes", "no"}));
  EXPECT_EQ(labels({.model = "lin", .trial = "0"}, {-1, 1}), (Texts{"no", "yes"}));
  EXPECT_EQ(labels({.model = "lin", .retrained = "1"}, {-1, 1}), (Texts{"yes", "yes"}));
}

TEST_F(LinePredictions, OfAFileAreThoseOfTheStudyAndItsThreshold) {
  write_study({{}});
  Model model = trained_model(opened("lin"), data(), storage(), trial(0)).value();
  model.threshold = 0.88;
  const ExporterRow& row = *std::ranges::find(exporters(), ".safetensors", &ExporterRow::extension);
  ASSERT_TRUE(row.write(model, path("line.safetensors")));
  const std::vector<double> xs = {-1, 1, 1.9, 2.1};
  PredictorName file{.model = path("line.safetensors")};
  EXPECT_EQ(labels(file, xs), (Texts{"no", "no", "no", "yes"}));
  file.threshold = ThresholdRequest{.value = 0.5};
  EXPECT_EQ(labels(file, xs), (Texts{"no", "yes", "yes", "yes"}));
  file.threshold = ThresholdRequest{.metric = "f1"};
  EXPECT_EQ(open_predictor(file).error().code, ErrorCode::kUsage) << "a file has no data";
}

// A network of two numbers that gives three: their sum, their difference and 0.
Model three_outputs(TaskKind task) {
  NetworkBuilder builder({2, 1, 1});
  const NodeId dense =
      builder.add({.kind = LayerKind::kDense, .channels = 3, .bias = true}, {builder.input()});
  Model model{.network = builder.build(dense).value(),
              .weights = {},
              .mean = {0, 0},
              .deviation = {1, 1},
              .class_names = {},
              .properties = {},
              .parameters = {},
              .metrics = {},
              .check = {},
              .task = task,
              .reads_pixels = false};
  model.weights = initial_weights(model.network, 1);
  model.weights[0].data = {1, 1, 1, -1, 0, 0};
  model.weights[1].data = {0, 0, 0};
  return model;
}

Rows answer(const Model& model, std::vector<float> numbers) {
  Inputs inputs;
  inputs.data.info.task.input = {2, 1, 1};
  inputs.data.mean = {0, 0};
  inputs.data.deviation = {1, 1};
  for (std::size_t i = 0; i < numbers.size() / 2; ++i)
    inputs.names.push_back(std::to_string(i + 1));
  inputs.data.values = std::move(numbers);
  return Predictor(model, "cpu").answer(inputs).value();
}

TEST(Predictions, OfClassesWithoutNamesCallThemByTheirNumbers) {
  const Rows rows = answer(three_outputs(TaskKind::kClassification), {1, 1, 1, -1, -1, -1});
  EXPECT_EQ(column(rows, "label"), (Texts{"0", "1", "1"})) << "of equal ones the first";
  const Json first = Json::parse(column(rows, "probabilities")[0]);
  const double sum = std::exp(2) + 2;
  EXPECT_NEAR(first["0"].get<double>(), std::exp(2) / sum, 1e-6);
  EXPECT_NEAR(first["2"].get<double>(), 1 / sum, 1e-6);
}

TEST(Predictions, OfLabelsAreThoseAboveTheThreshold) {
  Model model = three_outputs(TaskKind::kMultiLabel);
  model.class_names = {"a", "b", "c"};
  EXPECT_EQ(column(answer(model, {2, 1, -1, -1}), "labels"), (Texts{R"(["a","b"])", "[]"}));
  model.threshold = 0.9;
  EXPECT_EQ(column(answer(model, {2, 1}), "labels"), Texts{R"(["a"])"});
  model.threshold = 0.4;
  EXPECT_EQ(column(answer(model, {2, 1}), "labels"), Texts{R"(["a","b","c"])"});
}

TEST(Predictions, OfARegressionAreInTheUnitsOfTheData) {
  Model model = three_outputs(TaskKind::kRegression);
  model.class_names = {"sum", "gap", "none"};
  model.offsets.targets = {100, 0, -1};
  const Rows rows = answer(model, {2, 1});
  EXPECT_EQ(rows.columns, (Texts{"input", "predictions"}));
  EXPECT_EQ(column(rows, "predictions"), Texts{R"({"sum":103.0,"gap":1.0,"none":-1.0})"});
}

}  // namespace
}  // namespace detol

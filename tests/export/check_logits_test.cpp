#include <cmath>

#include <gtest/gtest.h>

#include "export/formats.h"
#include "tests/export/sample_models.h"

namespace detol {
namespace {

// Five images of 1 x 2 x 2: two to train, one to validate, two to test.
Dataset five_images() {
  Dataset data;
  data.info = {.task = {{1, 2, 2}, 2}, .training = 2, .validation = 1, .test = 2, .fingerprint = 0};
  for (int i = 0; i < 20; ++i) data.images.push_back(static_cast<std::uint8_t>(i));
  data.labels = {0, 1, 0, 1, 0};
  data.mean = {0.5f};
  data.deviation = {0.25f};
  return data;
}

// Returns a model whose logits are the sum of the normalised pixels and ten times that sum.
Model summing_model() {
  NetworkBuilder b({1, 2, 2});
  const NodeId sum = b.add({.kind = LayerKind::kDense, .channels = 2}, {b.input()});
  Model model = testing::model_of(b.build(sum).value());
  model.weights[0].data = {1, 1, 1, 1, 10, 10, 10, 10};
  return model;
}

float expected(float sum_of_bytes) {
  return (sum_of_bytes / 255 - 4 * 0.5f) / 0.25f;
}

TEST(CheckLogits, AreThoseOfTheTestImages) {
  const CheckLogits check = check_logits(summing_model(), five_images()).value();
  EXPECT_EQ(check.count, 2);
  ASSERT_EQ(check.logits.size(), 4u);
  EXPECT_NEAR(check.logits[0], expected(12 + 13 + 14 + 15), 1e-5);
  EXPECT_NEAR(check.logits[3], 10 * expected(16 + 17 + 18 + 19), 1e-4);
}

TEST(CheckLogits, AreOfAtMostAsManyImagesAsAsked) {
  EXPECT_EQ(check_logits(summing_model(), five_images(), 1).value().count, 1);
}

// Returns a regression model of two outputs with a bias, for targets around 1000 and around -2.
Model regression() {
  NetworkBuilder b({1, 2, 2});
  const NodeId sum = b.add({.kind = LayerKind::kDense, .channels = 2, .bias = true}, {b.input()});
  Model model = testing::model_of(b.build(sum).value());
  model.weights[0].data = {1, 1, 1, 1, 10, 10, 10, 10};
  model.weights[1].data = {0.5F, -3};
  model.mean = {0.5F};
  model.deviation = {0.25F};
  model.task = TaskKind::kRegression;
  return model;
}

Dataset with_targets() {
  Dataset data = five_images();
  data.labels.clear();
  data.info.task.kind = TaskKind::kRegression;
  data.targets.assign(10, 0);
  data.target_mean = {1000, -2};
  data.target_deviation = {20, 0.01F};
  return data;
}

TEST(CheckLogits, OfARegressionAreInTheUnitsOfTheData) {
  const CheckLogits check = check_logits(regression(), with_targets()).value();
  const float sum = expected(12 + 13 + 14 + 15);
  EXPECT_NEAR(check.logits[0], 1000 + 20 * (sum + 0.5F), 1e-2);
  EXPECT_NEAR(check.logits[1], -2 + 0.01F * (10 * sum - 3), 1e-4);
}

TEST(Units, AreFoldedIntoTheLastLayerAndVerified) {
  Model model = regression();
  const Dataset data = with_targets();
  model.check = check_logits(model, data).value();
  ASSERT_TRUE(fold_target_scale(preprocessing_of(data), model));
  EXPECT_FLOAT_EQ(model.weights[0].data[0], 20);
  EXPECT_FLOAT_EQ(model.weights[0].data[7], 0.1F);
  EXPECT_FLOAT_EQ(model.weights[1].data[0], 1010);
  EXPECT_FLOAT_EQ(model.weights[1].data[1], -2.03F);
  const auto same = compare_models(model, model);
  EXPECT_TRUE(same) << same.error().message;
}

// The error is 50 deviations of its own output, but small beside the other output's mean of 1000.
TEST(Units, AreTheMeasureOfWhatMayDiffer) {
  Model model = regression();
  const Dataset data = with_targets();
  model.check = check_logits(model, data).value();
  ASSERT_TRUE(fold_target_scale(preprocessing_of(data), model));
  model.check->logits[1] += 0.02F * 25;
  EXPECT_FALSE(compare_models(model, model));
}

TEST(Units, NeedALastLayerThatHasThem) {
  Model model = summing_model();  // no bias
  const auto folded = fold_target_scale(preprocessing_of(with_targets()), model);
  ASSERT_FALSE(folded);
  EXPECT_EQ(folded.error().message,
            "a regression of 2 numbers must end with a dense layer of as many outputs and a bias; "
            "this network ends with dense of 2");
}

// Missing cells have an input of their own, which a check without them would pass over.
TEST(CheckLogits, OfATableMissNumbersWhereTheRecordsToTrainOnDid) {
  const TableEncoder table = testing::mixed_table();
  Model model = testing::model_of(testing::network_of_table(table));
  testing::set_table(model, table);
  Preprocessing data;
  data.mean = model.mean;
  data.deviation = model.deviation;
  data.table = model.table;
  const CheckLogits check = check_logits(model, data, 100).value();
  std::vector<int> missing(table.columns.size());
  for (std::size_t i = 0; i < check.cells.size(); ++i)
    missing[i % missing.size()] += std::isnan(check.cells[i]) ? 1 : 0;
  for (std::size_t column = 0; column < missing.size(); ++column) {
    const bool marks_missing = table.columns[column].marks_missing;
    EXPECT_NEAR(missing[column], marks_missing ? 20 : 0, marks_missing ? 15 : 0) << column;
  }
}

TEST(CheckLogits, NeedTestImages) {
  Dataset data = five_images();
  data.info.test = 0;
  const auto check = check_logits(summing_model(), data);
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code, ErrorCode::kExport);
}

TEST(CheckLogits, NeedImagesOfTheNetworksShape) {
  const auto check =
      check_logits(testing::model_of(testing::network_of_everything()), five_images());
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().message, "the data's images are 1x2x2, the network's 3x9x9");
}

}  // namespace
}  // namespace detol

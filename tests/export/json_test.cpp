#include <limits>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "export/formats.h"
#include "tests/export/sample_models.h"

namespace detol {
namespace {

using nlohmann::json;
using testing::model_of;
using testing::network_of_everything;

TEST(Json, ListsEveryLayerWithItsShape) {
  const Model model = model_of(network_of_everything());
  const json document = json::parse(json_bytes(model).value());
  ASSERT_EQ(document["layers"].size(), model.network.nodes().size());
  EXPECT_EQ(document["layers"][0]["op"], "input");
  EXPECT_EQ(document["layers"][1]["name"], "stem");
  EXPECT_EQ(document["layers"][1]["shape"], json({8, 9, 9}));
  EXPECT_EQ(document["layers"][1]["kernel"], 3);
  EXPECT_EQ(document["layers"][1]["tensors"]["weight"], json({8, 3, 3, 3}));
}

TEST(Json, AddsUpParametersAndFlops) {
  NetworkBuilder b({2, 4, 4});
  const NodeId norm = b.add({.kind = LayerKind::kBatchNorm}, {b.input()});
  const NodeId dense = b.add({.kind = LayerKind::kDense, .channels = 3, .bias = true}, {norm});
  const json document = json::parse(json_bytes(model_of(b.build(dense).value())).value());
  EXPECT_EQ(document["network"]["params"], 2 * 2 + 32 * 3 + 3);
  EXPECT_EQ(document["network"]["flops"], 2 * 32 * 3);
}

TEST(Json, KeepsTheTypesOfHyperparameters) {
  const json document = json::parse(json_bytes(model_of(network_of_everything())).value());
  EXPECT_EQ(document["params"], json({{"lr", 0.01}, {"optimizer", "sgd"}, {"nesterov", true}}));
  EXPECT_EQ(document["metrics"]["val_accuracy"], 0.91);
  EXPECT_EQ(document["properties"]["study"], "fashion");
}

TEST(Json, WritesNaNAsAWord) {
  Model model = model_of(network_of_everything());
  model.metrics = {{"val_loss", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_EQ(json::parse(json_bytes(model).value())["metrics"]["val_loss"], "NaN");
}

TEST(Json, GivesTheLogitsToCheckAgainstImageByImage) {
  Model model = model_of(network_of_everything());
  model.check = CheckLogits{"the first 2 test images", 2, {}, {1, 2, 3, 4, 5, 6, 7, 8}};
  const json check = json::parse(json_bytes(model).value())["check"];
  EXPECT_EQ(check["logits"], json({{1, 2, 3, 4}, {5, 6, 7, 8}}));
}

TEST(Json, GivesTheNumbersOfARegressionWithTheirOffsets) {
  Model model = model_of(network_of_everything());
  model.task = TaskKind::kRegression;
  model.class_names.clear();
  model.offsets.targets = {4e9, 0, -1e8, 7};
  model.check = CheckLogits{"a drawn image", 1, {}, {1, 2, 3, 4}};
  const json check = json::parse(json_bytes(model).value())["check"];
  EXPECT_EQ(check["prediction"], json({{4e9 + 1, 2.0, -1e8 + 3, 11.0}}));
}

TEST(Json, SurvivesNamesThatAreNotUtf8) {
  Model model = model_of(network_of_everything());
  model.class_names = {"\xff\xfe"};
  EXPECT_TRUE(json::accept(json_bytes(model).value()));
}

}  // namespace
}  // namespace detol

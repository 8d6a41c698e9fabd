// A model whose batch norms are folded computes what it computed before.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "export/formats.h"
#include "tests/export/random_model.h"
#include "trainer/predict.h"

namespace detol {
namespace {

using testing::model_of;

Model folded(Model model) {
  EXPECT_TRUE(fold_batch_norms(model));
  EXPECT_TRUE(check_model(model));
  return model;
}

std::int64_t batch_norms_in(const Model& model) {
  return std::ranges::count_if(model.network.nodes(), [](const Node& node) {
    return node.layer.kind == LayerKind::kBatchNorm;
  });
}

std::vector<float> logits_for(const Model& model, const std::vector<float>& images) {
  return logits_of(model.network, model.weights, images, "reference").value();
}

// Returns the largest difference of logits, as a share of the largest logit where that is above 1.
float difference(const Model& model, const Model& other) {
  Rng rng(3);
  std::vector<float> images(2 * static_cast<std::size_t>(model.network.input_shape().elements()));
  std::ranges::generate(images, [&] { return static_cast<float>(rng.normal()); });
  const std::vector<float> was = logits_for(model, images), is = logits_for(other, images);
  float largest = 1, found = 0;
  for (std::size_t i = 0; i < was.size(); ++i) {
    largest = std::max(largest, std::abs(was[i]));
    found = std::max(found, std::abs(is[i] - was[i]));
  }
  return was.size() == is.size() ? found / largest : 1;
}

// Returns a network that normalises what a layer gives.
Network normalised(const Layer& layer) {
  NetworkBuilder b({4, 5, 5});
  const NodeId x = b.add(layer, {b.input()}, "layer");
  return b.build(b.add({.kind = LayerKind::kBatchNorm}, {x}, "norm")).value();
}

TEST(FoldBatchNorms, LeaveNoneBehindConvolutionsAndDenseLayers) {
  const std::vector<Layer> layers = {
      {.kind = LayerKind::kConv, .channels = 6, .kernel = 3},
      {.kind = LayerKind::kConv, .channels = 8, .kernel = 3, .groups = 4, .bias = true},
      {.kind = LayerKind::kDense, .channels = 3},
      {.kind = LayerKind::kDense, .channels = 3, .bias = true}};
  for (const Layer& layer : layers) {
    const Model model = model_of(normalised(layer)), made = folded(model);
    EXPECT_EQ(batch_norms_in(made), 0);
    EXPECT_LT(difference(model, made), 1e-5f);
  }
}

TEST(FoldBatchNorms, KeepOneBehindAnotherLayer) {
  const Model made = folded(model_of(normalised({.kind = LayerKind::kMaxPool, .kernel = 3})));
  EXPECT_EQ(batch_norms_in(made), 1);
}

TEST(FoldBatchNorms, KeepOneWhoseInputAnotherLayerReads) {
  NetworkBuilder b({2, 4, 4});
  const NodeId conv = b.add({.kind = LayerKind::kConv, .channels = 3}, {b.input()});
  const NodeId norm = b.add({.kind = LayerKind::kBatchNorm}, {conv});
  const Model model = model_of(b.build(b.add({.kind = LayerKind::kAdd}, {conv, norm})).value());
  const Model made = folded(model);
  EXPECT_EQ(batch_norms_in(made), 1);
  EXPECT_LT(difference(model, made), 1e-5f);
}

TEST(FoldBatchNorms, KeepTheLogitsOfRandomNetworks) {
  std::int64_t removed = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Model model = model_of(testing::RandomNetwork(seed).build(), seed), made = folded(model);
    removed += batch_norms_in(model) - batch_norms_in(made);
    EXPECT_LT(difference(model, made), 1e-4f) << seed;
  }
  EXPECT_GT(removed, 10);
}

// The check logits are the scored model's.
TEST(FoldBatchNorms, GiveExportsThatVerify) {
  Model model = model_of(testing::network_of_everything());
  model.mean.assign(3, 0), model.deviation.assign(3, 1);
  CheckLogits check{"a random image", 1, std::vector<float>(3 * 9 * 9, 0.5f), {}};
  check.logits = logits_for(model, check.pixels);
  model.check = check;
  const Model made = folded(model);
  ASSERT_LT(batch_norms_in(made), batch_norms_in(model));
  const auto compared = compare_onnx(onnx_bytes(made).value(), made);
  EXPECT_TRUE(compared) << compared.error().message;
}

}  // namespace
}  // namespace detol

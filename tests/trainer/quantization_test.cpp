#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tests/trainer/random_network.h"
#include "tests/trainer/samples.h"
#include "trainer/predict.h"
#include "trainer/quantization/quantize.h"

namespace detol {
namespace {

using enum LayerKind;

// Two convolutions, a sum, a pool and a dense layer.
Network sample_network() {
  NetworkBuilder b({3, 8, 8});
  NodeId x = b.add({.kind = kConv, .channels = 8, .kernel = 3, .bias = true}, {b.input()}, "first");
  x = b.add({.kind = kActivation}, {x}, "relu");
  const NodeId inside = b.add({.kind = kConv, .channels = 8, .kernel = 3}, {x}, "second");
  x = b.add({.kind = kAdd}, {x, inside}, "sum");
  x = b.add({.kind = kMaxPool, .kernel = 2, .stride = 2}, {x}, "pool");
  return b.build(b.add({.kind = kDense, .channels = 5, .bias = true}, {x}, "logits")).value();
}

std::vector<float> images_for(const Network& network, std::int64_t count) {
  Rng rng(4);
  std::vector<float> images(static_cast<std::size_t>(count * network.input_shape().elements()));
  for (float& pixel : images) pixel = static_cast<float>(rng.normal());
  return images;
}

std::vector<std::string> names_of(const Network& network, LayerKind kind) {
  std::vector<std::string> names;
  for (const Node& node : network.nodes()) {
    if (node.layer.kind == kind) names.push_back(node.name);
  }
  return names;
}

TEST(Quantized, HasLevelsWhereverProductsAndSumsRead) {
  const Network network = sample_network();
  const auto made =
      quantized(network, lived_in_weights(network, 1), images_for(network, 20), "reference")
          .value();
  EXPECT_EQ(names_of(made.network, kQuantize),
            (std::vector<std::string>{"input.quantized", "relu.quantized", "second.quantized",
                                      "sum.quantized"}));
  for (NodeId node = 0; node < made.network.nodes().size(); ++node) {
    const LayerKind kind = made.network.nodes()[node].layer.kind;
    if (kind == kConv || kind == kDense) EXPECT_TRUE(quantizer_of(made.network, node)) << node;
  }
  EXPECT_TRUE(fits(made.weights, made.network));
}

// A mean of levels lies between them.
TEST(Quantized, HasLevelsOfItsOwnBehindAnAveragePool) {
  NetworkBuilder b({3, 8, 8});
  NodeId x = b.add({.kind = kConv, .channels = 4, .kernel = 3}, {b.input()}, "first");
  x = b.add({.kind = kAvgPool, .kernel = 2, .stride = 2}, {x}, "pool");
  x = b.add({.kind = kDense, .channels = 5}, {x}, "logits");
  const Network network = b.build(x).value();
  const auto made =
      quantized(network, lived_in_weights(network, 1), images_for(network, 20), "reference")
          .value();
  EXPECT_EQ(names_of(made.network, kQuantize),
            (std::vector<std::string>{"input.quantized", "first.quantized", "pool.quantized"}));
}

TEST(Quantized, HasAtMost255WeightsOfEachChannel) {
  const Network network = sample_network();
  const auto made =
      quantized(network, lived_in_weights(network, 1), images_for(network, 20), "reference")
          .value();
  for (const Tensor& tensor : made.weights) {
    if (tensor.shape.size() < 2) continue;
    const ChannelLevels levels = levels_of(tensor);
    const std::size_t size = tensor.data.size() / levels.scales.size();
    for (std::size_t i = 0; i < tensor.data.size(); ++i)
      ASSERT_EQ(tensor.data[i], levels.scales[i / size] * static_cast<float>(levels.weights[i]));
  }
}

TEST(Quantized, RoundingAgainChangesNoBit) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Network network = RandomNetwork(seed).build();
    const auto made =
        quantized(network, lived_in_weights(network, seed), images_for(network, 8), "reference")
            .value();
    Weights again = made.weights;
    round_to_levels(made.network, again);
    for (std::size_t i = 0; i < again.size(); ++i) ASSERT_EQ(again[i].data, made.weights[i].data);
  }
}

// The levels are 1/255 of a range apart, and so are the outputs of one layer; several add up.
TEST(Quantized, ComputesNearlyTheSame) {
  const Network network = sample_network();
  const Weights weights = lived_in_weights(network, 1);
  const auto images = images_for(network, 50);
  const auto made = quantized(network, weights, images, "reference").value();
  const auto expected = logits_of(network, weights, images, "reference").value();
  const auto found = logits_of(made.network, made.weights, images, "reference").value();
  double error = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(found[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  EXPECT_GT(error, 0);
  EXPECT_LT(std::sqrt(error / size), 0.02);
}

TEST(Quantized, EveryBackendComputesTheSame) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const Network network = RandomNetwork(seed).build();
    const auto images = images_for(network, 8);
    const auto made =
        quantized(network, lived_in_weights(network, seed), images, "reference").value();
    const auto expected = logits_of(made.network, made.weights, images, "reference").value();
    const auto found = logits_of(made.network, made.weights, images, "cpu").value();
    // A sum that lies between two levels may be rounded to either.
    double error = 0, size = 1e-6;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      error += std::pow(found[i] - expected[i], 2);
      size += std::pow(expected[i], 2);
    }
    EXPECT_LT(std::sqrt(error / size), 0.01);
  }
}

TEST(OnLevels, RoundsHalvesToEvenAndStaysInRange) {
  const Layer layer{.kind = kQuantize, .scale = 0.5F, .zero_point = 10};
  EXPECT_EQ(on_levels(layer, 0), 0);
  EXPECT_EQ(on_levels(layer, 0.25F), 0);
  EXPECT_EQ(on_levels(layer, 0.75F), 1);
  EXPECT_EQ(on_levels(layer, -0.3F), -0.5F);
  EXPECT_EQ(on_levels(layer, 1000), (255 - 10) * 0.5F);
  EXPECT_EQ(on_levels(layer, -1000), -10 * 0.5F);
}

}  // namespace
}  // namespace detol

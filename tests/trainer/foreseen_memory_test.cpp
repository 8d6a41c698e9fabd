// What a network is foreseen to hold (encodings/cost.h) against what the fast backends do hold.

#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/cost.h"
#include "encodings/study_config.h"
#include "tests/trainer/random_network.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/bench_networks.h"
#include "trainer/choices.h"

namespace detol {
namespace {

using enum LayerKind;

// Foreseen over held, of the fastest backend.
double ratio(const Network& network, const Recipe& recipe, const Placement& placement = {}) {
  const auto compiled = fastest_tested().compile(network, recipe, placement).value();
  const auto foreseen = static_cast<double>(cost_of(network, recipe)->memory);
  return foreseen / static_cast<double>(compiled->bytes());
}

// Every layer reads all before it, as in a cell or a densely connected block.
Network dense_block(LayerKind kind, LayerKind norm) {
  NetworkBuilder b({16, 16, 16});
  std::vector<NodeId> made = {b.add({.kind = kConv, .channels = 32, .kernel = 3}, {b.input()})};
  for (int i = 0; i < 5; ++i) {
    NodeId x = made.back();
    if (made.size() > 1) x = b.add({.kind = kind}, made);
    x = b.add({.kind = kConv, .channels = 32}, {b.add({.kind = norm}, {x})});
    x = b.add({.kind = kConv, .channels = 32, .kernel = 3, .groups = 32, .dilation = 2}, {x});
    made.push_back(b.add({.kind = i % 2 == 0 ? kMaxPool : kAvgPool, .kernel = 3}, {x}));
  }
  const NodeId joined = b.add({.kind = kConcat}, made);
  const NodeId pooled = b.add({.kind = kGlobalAvgPool}, {joined});
  return b.build(b.add({.kind = kDense, .channels = 16}, {pooled})).value();
}

// One wide value that many narrow layers read.
Network fan_out() {
  NetworkBuilder b({16, 16, 16});
  const NodeId wide = b.add({.kind = kConv, .channels = 256, .kernel = 3}, {b.input()});
  std::vector<NodeId> narrow;
  for (int i = 0; i < 8; ++i) narrow.push_back(b.add({.kind = kGlobalAvgPool}, {wide}));
  const NodeId joined = b.add({.kind = kConcat}, narrow);
  return b.build(b.add({.kind = kDense, .channels = 16}, {joined})).value();
}

TEST(ForeseenMemory, IsEnoughForValuesOfManyReaders) {
  const Recipe recipe{.batch_size = 16};
  for (const Network& network :
       {dense_block(kAdd, kBatchNorm), dense_block(kAdd, kLayerNorm),
        dense_block(kConcat, kBatchNorm), dense_block(kConcat, kLayerNorm), fan_out()}) {
    EXPECT_GE(ratio(network, recipe), 1) << network.nodes().size() << " layers";
  }
}

TEST(ForeseenMemory, IsEnoughForEveryKindOfLayer) {
  for (const LayerCase& sample : layer_cases()) {
    for (const std::int64_t batch : {1, 16})
      EXPECT_GE(ratio(sandwich(sample), {.batch_size = batch}), 1) << sample.name << " " << batch;
  }
}

TEST(ForeseenMemory, IsEnoughForRandomNetworks) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Network network = RandomNetwork(seed).build();
    for (const std::int64_t batch : {1, 64})
      EXPECT_GE(ratio(network, {.batch_size = batch}), 1) << "seed " << seed << ", " << batch;
  }
}

TEST(ForeseenMemory, IsEnoughForEveryRecipe) {
  const Network network = make_resnet({});
  for (const char* optimizer : {"sgd", "adamw", "rmsprop", "lars"}) {
    for (const double ema : {0.0, 0.9}) {
      const Recipe recipe{.optimizer = optimizer, .batch_size = 2, .ema = ema};
      EXPECT_GE(ratio(network, recipe), 1) << optimizer << " " << ema;
      EXPECT_LE(ratio(network, recipe), 1.5) << optimizer << " " << ema;
    }
  }
}

// Every shape by the last of its ways, where the rule takes the first.
TEST(ForeseenMemory, IsEnoughForOtherWaysOfComputing) {
  const auto holds = [](const Network& network, const Recipe& recipe) {
    const auto open = fastest_tested().open_choices(network, recipe, {}).value();
    Choices last;
    for (const OpenChoice& one : open) last.ways.emplace(one.key, one.ways.back());
    return ratio(network, recipe, {.choices = &last});
  };
  for (const BenchNetworkRow& row : bench_networks()) {
    for (const std::int64_t batch : {1, 64}) EXPECT_GE(holds(row.make(), {.batch_size = batch}), 1);
  }
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    EXPECT_GE(holds(RandomNetwork(seed).build(), {.batch_size = 4}), 1) << "seed " << seed;
}

// A candidate that fits is not refused for what it would hold at most. Of one image or two, what a
// convolution works in decides, and that depends on the way that is chosen for it.
TEST(ForeseenMemory, IsAtMostHalfAsMuchAgainAsReferenceNetworksHold) {
  for (const BenchNetworkRow& row : bench_networks()) {
    for (const std::int64_t batch : {1, 2, 64, 128}) {
      const double most = ratio(row.make(), {.batch_size = batch});
      EXPECT_GE(most, 1) << row.name << ", batch " << batch;
      EXPECT_LE(most, batch > 2 ? 1.5 : 2) << row.name << ", batch " << batch;
    }
  }
}

struct Shipped {
  std::string name;
  Shape input;
};

class ForeseenMemoryOf : public testing::TestWithParam<Shipped> {};

TEST_P(ForeseenMemoryOf, CandidatesIsEnoughForThem) {
  const StudyConfig config =
      read_study_config(DETOL_SOURCE_DIR "/configs/" + GetParam().name + ".yaml").value();
  const Task task{.input = GetParam().input, .classes = 10};
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng(seed);
    const auto candidate = config.candidate(config.space.sample(rng), task);
    if (!candidate) continue;
    EXPECT_GE(ratio(candidate->network, candidate->recipe), 1) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryTrainedSpace, ForeseenMemoryOf,
    testing::Values(Shipped{"cgp_resset", {3, 32, 32}}, Shipped{"cnn", {1, 28, 28}},
                    Shipped{"cnn_large", {3, 32, 32}}, Shipped{"conv1d", {1, 1, 140}},
                    Shipped{"darts_cells", {3, 32, 32}}, Shipped{"graph", {1, 28, 28}},
                    Shipped{"metaqnn", {3, 32, 32}}, Shipped{"mlp_regression", {13, 1, 1}},
                    Shipped{"mlp_table", {64, 1, 1}}, Shipped{"resnet_hpo", {3, 32, 32}}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace detol

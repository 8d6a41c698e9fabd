// Compares the memory planned for a training (trainer/training_memory.h) with what it holds.

#include "trainer/training_memory.h"

#include <string>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "core/rng.h"
#include "tests/trainer/random_network.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/reports/algorithm_choices.h"

namespace detol {
namespace {

using enum LayerKind;

std::int64_t held_bytes(const Network& network, const Recipe& recipe,
                        const Placement& placement = {}) {
  const auto compiled = fastest_tested().compile(network, recipe, placement).value();
  return static_cast<std::int64_t>(compiled->bytes());
}

std::int64_t foreseen_bytes(const Network& network, const Recipe& recipe) {
  return training_bytes(network, recipe).value();
}

// Returns a network whose layers read all before them, as in a cell or a densely connected block.
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

// Returns a network with one wide value that many narrow layers read.
Network fan_out() {
  NetworkBuilder b({16, 16, 16});
  const NodeId wide = b.add({.kind = kConv, .channels = 256, .kernel = 3}, {b.input()});
  std::vector<NodeId> narrow;
  for (int i = 0; i < 8; ++i) narrow.push_back(b.add({.kind = kGlobalAvgPool}, {wide}));
  const NodeId joined = b.add({.kind = kConcat}, narrow);
  return b.build(b.add({.kind = kDense, .channels = 16}, {joined})).value();
}

TEST(TrainingMemory, IsForeseenForValuesOfManyReaders) {
  const Recipe recipe{.batch_size = 16};
  for (const Network& network :
       {dense_block(kAdd, kBatchNorm), dense_block(kAdd, kLayerNorm),
        dense_block(kConcat, kBatchNorm), dense_block(kConcat, kLayerNorm), fan_out()}) {
    EXPECT_EQ(foreseen_bytes(network, recipe), held_bytes(network, recipe))
        << network.nodes().size() << " layers";
  }
}

TEST(TrainingMemory, IsForeseenForEveryKindOfLayer) {
  for (const LayerCase& sample : layer_cases()) {
    for (const std::int64_t batch : {1, 16}) {
      const Recipe recipe{.batch_size = batch};
      EXPECT_EQ(foreseen_bytes(sandwich(sample), recipe), held_bytes(sandwich(sample), recipe))
          << sample.name << " " << batch;
    }
  }
}

TEST(TrainingMemory, IsForeseenForRandomNetworks) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Network network = RandomNetwork(seed).build();
    const Recipe recipe{.batch_size = seed % 2 == 0 ? 1 : 64};
    EXPECT_EQ(foreseen_bytes(network, recipe), held_bytes(network, recipe)) << "seed " << seed;
  }
}

TEST(TrainingMemory, IsForeseenForEveryRecipe) {
  const Network network = make_resnet({});
  for (const char* optimizer : {"sgd", "adam", "adamw", "rmsprop", "lars"}) {
    for (const double ema : {0.0, 0.9}) {
      const Recipe recipe{.optimizer = optimizer, .batch_size = 2, .ema = ema};
      EXPECT_EQ(foreseen_bytes(network, recipe), held_bytes(network, recipe))
          << optimizer << " " << ema;
    }
  }
}

TEST(TrainingMemory, CountsWhatAGroupKeepsOfEveryWeight) {
  NetworkBuilder builder({1000, 1, 1});
  const NodeId x = builder.add({.kind = kDense, .channels = 1600}, {builder.input()});
  const Network network = builder.build(x).value();
  const auto copies = [&](const Recipe& recipe, int ranks = 4) {
    const std::int64_t one = foreseen_bytes(network, {.batch_size = 4});
    const std::int64_t all = training_bytes(network, recipe, ranks).value();
    return static_cast<double>(all - ranks * one) / (4.0 * 1000 * 1600) / ranks;
  };
  // Received, then of top_k: the own residual and those of all ranks since a checkpoint, entries of
  // 8 bytes of all elements and a hundredth of them of five.
  EXPECT_NEAR(copies({.batch_size = 4}), 1, 0.01);
  EXPECT_NEAR(copies({.batch_size = 4, .compression = "fp16"}), 1, 0.01);
  EXPECT_NEAR(copies({.batch_size = 4, .compression = "top_k"}), 1 + 4 + 2 + 0.1, 0.01);
  EXPECT_NEAR(copies({.batch_size = 4, .staleness = 2}), 3 + 3, 0.01);
  EXPECT_EQ(copies({.batch_size = 4, .compression = "top_k", .staleness = 2}, 1), 0);
}

// No matrix of all pairs of positions is kept, forward or backward.
TEST(TrainingMemory, OfAttentionGrowsWithThePositions) {
  const auto bytes_of = [](std::int64_t positions) {
    NetworkBuilder builder({1, 1, positions});
    NodeId x = builder.add({.kind = kConv, .channels = 96}, {builder.input()});
    x = builder.add({.kind = kAttention, .heads = 2, .key_heads = 2, .causal = true}, {x});
    x = builder.add({.kind = kGlobalAvgPool}, {x});
    const Network network =
        builder.build(builder.add({.kind = kDense, .channels = 3}, {x})).value();
    return static_cast<double>(foreseen_bytes(network, {.batch_size = 2}));
  };
  EXPECT_LT(bytes_of(4096), 2.05 * bytes_of(2048));
}

// Of 1,000 weights: the weights, gradients, one moment and the average in 32 bits, weights and
// gradients in 16; half of the other bytes that were planned; the batch once more in 32 bits, with
// channels filled up to eight in 16.
TEST(TrainingMemory, OfABf16TrainingOnADeviceCountsItsCopies) {
  NetworkBuilder builder({3, 2, 2});
  Candidate candidate;
  candidate.network =
      builder.build(builder.add({.kind = kDense, .channels = 2}, {builder.input()})).value();
  candidate.recipe = {.batch_size = 10, .ema = 0.9};
  candidate.cost.params = 1000;
  candidate.cost.memory = 4 * 4000 + 600;
  EXPECT_EQ(device_bytes(candidate), 4 * 4000 + 600);
  candidate.recipe.precision = "bf16";
  EXPECT_EQ(device_bytes(candidate), 4 * 4000 + 2 * 2000 + 300 + 10 * 4 * (3 * 4 + 5 * 2));
}

// Tensors of 2^31 elements and more, up to the most that a network may have, are refused with the
// numbers, whatever a library does with such sizes.
TEST(TrainingMemory, OfNetworksBeyondAnyMachineIsRefusedWithTheNumbers) {
  for (int bits = 18; bits <= 50; bits += 4) {
    NetworkBuilder builder({16, 8, 8});
    NodeId x = builder.add({.kind = kConv, .channels = std::int64_t{1} << (bits / 2), .kernel = 3},
                           {builder.input()});
    x = builder.add({.kind = kConv, .channels = 16, .groups = 16}, {x});
    x = builder.add({.kind = kGlobalAvgPool}, {x});
    const Network network =
        builder.build(builder.add({.kind = kDense, .channels = 10}, {x})).value();
    const Recipe recipe{.batch_size = std::int64_t{1} << (bits - bits / 2)};
    const auto planned = with_training_memory({.network = network, .recipe = recipe, .cost = {}},
                                              {.max_memory = 1e6});
    ASSERT_FALSE(planned) << bits;
    EXPECT_EQ(planned.error().cause, Cause::kTooLarge);
    EXPECT_TRUE(planned.error().reason.starts_with("memory ")) << planned.error().reason;
    EXPECT_GT(foreseen_bytes(network, recipe), 256 * (std::int64_t{1} << bits)) << bits;
  }
}

// Shipped is a space file of configs/, and the shape of its data.
struct Shipped {
  std::string name;
  Shape input;
};

class TrainingMemoryOf : public testing::TestWithParam<Shipped> {};

TEST_P(TrainingMemoryOf, CandidatesIsForeseen) {
  const StudyConfig config =
      read_study_config(DETOL_SOURCE_DIR "/configs/" + GetParam().name + ".yaml").value();
  const Task task{.input = GetParam().input, .classes = 10};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const auto candidate = config.candidate(config.space.sample(rng), task);
    if (!candidate) continue;
    EXPECT_EQ(foreseen_bytes(candidate->network, candidate->recipe),
              held_bytes(candidate->network, candidate->recipe))
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryTrainedSpace, TrainingMemoryOf,
    testing::Values(Shipped{"cgp_resset", {3, 32, 32}}, Shipped{"cnn", {1, 28, 28}},
                    Shipped{"cnn_large", {3, 32, 32}}, Shipped{"conv1d", {1, 1, 140}},
                    Shipped{"darts_cells", {3, 32, 32}}, Shipped{"graph", {1, 28, 28}},
                    Shipped{"hybrid", {1, 28, 28}}, Shipped{"metaqnn", {3, 32, 32}},
                    Shipped{"mlp_regression", {13, 1, 1}}, Shipped{"mlp_table", {64, 1, 1}},
                    Shipped{"resnet_hpo", {3, 32, 32}}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace detol

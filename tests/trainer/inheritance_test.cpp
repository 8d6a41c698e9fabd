// Networks that inherit: where the plan says that it preserves the function, the child's outputs
// are the parent's, for each kind of change and for random mutations of every encoding.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/encodings/random_genomes.h"
#include "tests/trainer/random_network.h"
#include "trainer/inheritance/channel_moments.h"
#include "trainer/inheritance/inherited_weights.h"
#include "trainer/predict.h"

namespace detol {
namespace {

// Weights as after some training: no number is at its initial value, running statistics neither.
Weights trained_weights(const Network& network, std::uint64_t seed) {
  Weights weights = initial_weights(network, seed);
  Rng rng(seed + 1);
  for (Tensor& tensor : weights) {
    const bool is_positive = tensor.name.ends_with("running_var") || tensor.name.ends_with("gamma");
    for (float& value : tensor.data) {
      value = static_cast<float>(is_positive ? rng.uniform(0.5, 1.5)
                                             : static_cast<double>(value) + 0.3 * rng.normal());
    }
  }
  return weights;
}

// Returns the largest difference of the outputs, in units of the parent's largest output.
double difference(const Network& parent, const Network& child, const InheritancePlan& plan) {
  const Weights before = trained_weights(parent, 7);
  const Weights after = inherited_weights(plan, parent, before, child, 11);
  EXPECT_TRUE(fits(after, child));
  Rng rng(5);
  std::vector<float> images(static_cast<std::size_t>(3 * parent.input_shape().elements()));
  for (float& pixel : images) pixel = static_cast<float>(rng.normal());
  const auto ours = logits_of(child, after, images, "cpu").value();
  const auto theirs = logits_of(parent, before, images, "cpu").value();
  double largest = 1e-30, most = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(theirs[i])));
    most = std::max(most, std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])));
  }
  return most / largest;
}

struct Change {
  std::string name, before, after;
  std::string encoding = "chain";
  Shape image = {3, 9, 9};
  friend void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }
};

std::string stages(const std::string& block, int depth, int channels = 4) {
  return R"({"stem": {"channels": )" + std::to_string(channels) +
         R"(}, "stages": [{"depth": 1, "block": {"op": "conv"}}, {"depth": )" +
         std::to_string(depth) + R"(, "block": {)" + block + "}}]}";
}

std::string edges(const std::string& operations) {
  return R"({"cell": {"nodes": 3, "edges": "op_on_edge", "edge": [)" + operations +
         R"(]}, "macro": {"cells_per_stage": 1, "stages": 2, "channels": 4}})";
}

std::string table(int depth, int channels, const std::string& block) {
  return R"({"stem": {"op": "none"}, "stages": [{"depth": )" + std::to_string(depth) +
         R"(, "channels": )" + std::to_string(channels) + R"(, "block": {)" + block + "}}]}";
}

const std::vector<Change> kChanges = {
    {"DeepenConv", stages(R"("op": "conv")", 1), stages(R"("op": "conv")", 3)},
    {"DeepenResidual", stages(R"("op": "residual")", 1), stages(R"("op": "residual")", 2)},
    {"DeepenGatedResidual", stages(R"("op": "residual", "se": true)", 1),
     stages(R"("op": "residual", "se": true)", 2)},
    {"DeepenMbconv", stages(R"("op": "mbconv", "activation": "silu")", 1),
     stages(R"("op": "mbconv", "activation": "silu")", 3)},
    {"DeepenSeparable", stages(R"("op": "separable_conv")", 1),
     stages(R"("op": "separable_conv")", 2)},
    {"DeepenAttention", stages(R"("op": "attention", "heads": 2, "activation": "gelu")", 1),
     stages(R"("op": "attention", "heads": 2, "activation": "gelu")", 3)},
    {"WidenExpansionOfAttention", stages(R"("op": "attention", "expansion": 1)", 2),
     stages(R"("op": "attention", "expansion": 2)", 2)},
    {"WidenStem", stages(R"("op": "residual")", 2), stages(R"("op": "residual")", 2, 8)},
    {"WidenExpansion", stages(R"("op": "mbconv", "expansion": 2)", 2),
     stages(R"("op": "mbconv", "expansion": 4)", 2)},
    {"WidenWithGates", stages(R"("op": "mbconv", "expansion": 1, "se": true)", 2),
     stages(R"("op": "mbconv", "expansion": 1, "se": true)", 2, 6)},
    {"LargerKernel", stages(R"("op": "residual", "kernel": 1)", 2),
     stages(R"("op": "residual", "kernel": 5)", 2)},
    {"LargerDepthwiseKernel", stages(R"("op": "separable_conv")", 2),
     stages(R"("op": "separable_conv", "kernel": 7)", 2)},
    {"GateConv", stages(R"("op": "conv")", 2), stages(R"("op": "conv", "se": true)", 2)},
    {"GateResidual", stages(R"("op": "residual")", 2),
     stages(R"("op": "residual", "se": true)", 2)},
    {"GateMbconv", stages(R"("op": "mbconv")", 2), stages(R"("op": "mbconv", "se": true)", 2)},
    {"Dropout", stages(R"("op": "conv")", 2), stages(R"("op": "conv", "dropout": 0.2)", 2)},
    {"DeepenDense",
     table(1, 8, R"("op": "dense")"),
     table(3, 8, R"("op": "dense")"),
     "chain",
     {12, 1, 1}},
    {"WidenDense",
     table(2, 8, R"("op": "dense", "norm": "none")"),
     table(2, 24, R"("op": "dense", "norm": "none")"),
     "chain",
     {12, 1, 1}},
    {"DeepenResidualDense",
     table(1, 8, R"("op": "residual_dense")"),
     table(3, 8, R"("op": "residual_dense")"),
     "chain",
     {12, 1, 1}},
    {"AddEdge", edges(R"("nor_conv_3x3", "none", "nor_conv_1x1")"),
     edges(R"("nor_conv_3x3", "nor_conv_3x3", "nor_conv_1x1")"), "cell"},
    {"LargerKernelOfAnEdge", edges(R"("nor_conv_1x1", "skip_connect", "nor_conv_1x1")"),
     edges(R"("nor_conv_3x3", "skip_connect", "nor_conv_1x1")"), "cell"},
};

Network network_of(const Change& change, const std::string& architecture) {
  return decode(change.encoding, architecture, {.input = change.image, .classes = 5});
}

class Morphism : public testing::TestWithParam<Change> {};

TEST_P(Morphism, PreservesTheFunction) {
  const Network parent = network_of(GetParam(), GetParam().before);
  const Network child = network_of(GetParam(), GetParam().after);
  const InheritancePlan plan = plan_inheritance(parent, child);
  EXPECT_TRUE(plan.preserves);
  EXPECT_LT(difference(parent, child, plan), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Every, Morphism, testing::ValuesIn(kChanges),
                         [](const auto& info) { return info.param.name; });

struct MutatedCase {
  std::string name, encoding, architecture;
  int fewest = 0;  // pairs of 200 that preserve the function
  Shape image = {3, 8, 8};
  friend void PrintTo(const MutatedCase& sample, std::ostream* out) { *out << sample.name; }
};

const std::vector<MutatedCase> kMutated = {
    {"Stages", "chain", R"(
  stem: {channels: {type: categorical, choices: [4, 8], ordered: true}}
  stages:
    - repeat: 2
      depth: {type: int, low: 1, high: 3}
      block:
        op: {type: categorical, choices: [conv, residual, mbconv, separable_conv,
             max_pool, identity]}
        kernel: {type: categorical, choices: [1, 3, 5], ordered: true}
        expansion: {type: categorical, choices: [1, 2, 4], ordered: true}
        se: {type: bool}
        activation: {type: categorical, choices: [relu, silu]}
  head: {hidden: {type: categorical, choices: [0, 6, 9]}, dropout: {type: float, low: 0, high: 0.5}}
)",
     20},
    {"Layers", "chain", R"(
  layers: {depth: 5, kernels: [1, 3, 5], channels: [4, 8], pools: [2x2_2],
           dense: [8, 6], max_dense: 2}
)",
     20},
    {"Table",
     "chain",
     R"(
  stem: {op: none}
  stages:
    - repeat: 2
      depth: {type: int, low: 1, high: 3}
      stride: 1
      channels: {type: categorical, choices: [6, 12]}
      block:
        op: {type: categorical, choices: [dense, residual_dense]}
        norm: {type: categorical, choices: [batch, layer, none]}
        expansion: {type: categorical, choices: [1, 2]}
)",
     20,
     {7, 1, 1}},
    {"Edges", "cell", R"(
  cell: {nodes: 4, edges: op_on_edge,
         operations: [none, skip_connect, nor_conv_1x1, nor_conv_3x3, avg_pool_3x3]}
  macro: {cells_per_stage: 1, stages: 2, channels: 4}
)",
     20},
    {"Nodes", "cell", R"(
  cell: {nodes: 3, edges: op_on_node,
         operations: [none, skip_connect, max_pool_3x3, sep_conv_3x3, sep_conv_5x5, dil_conv_3x3]}
  macro: {cells_per_stage: 1, stages: 2, channels: 4}
)",
     10},
    {"Cgp", "cgp", R"(
  cgp: {rows: 2, columns: 6, levels_back: 3, functions: [convset], channels: [4, 8],
        kernels: [3, 5], min_active: 2, max_active: 10}
)",
     10},
    {"Graph", "graph", R"(
  graph: {nodes: 5, join: per_node, operations: [conv_1x1, conv_3x3, skip_connect, max_pool_3x3]}
  macro: {channels: {type: categorical, choices: [4, 8]}, stages: 2, cells_per_stage: 1}
)",
     10},
    {"Nasbench101", "graph", R"(
  graph: {nodes: 5, edges: 7, join: nasbench101, operations: [conv_3x3, conv_1x1, max_pool_3x3]}
  macro: {channels: 4, stages: 2, cells_per_stage: 1}
)",
     10},
};

class MutatedNetworks : public testing::TestWithParam<MutatedCase> {};

TEST_P(MutatedNetworks, PreserveTheFunctionWhereThePlanSaysSo) {
  const MutatedCase& sample = GetParam();
  const StudyConfig config =
      load_study_config(file_of(sample.encoding, sample.architecture), "s.yaml").value();
  const Task task{.input = sample.image, .classes = 5};
  Rng rng(20261125);
  int pairs = 0, preserved = 0;
  for (int i = 0; i < 2000 && pairs < 200; ++i) {
    const Genome genome = config.space.sample(rng);
    const auto parent = config.candidate(genome, task);
    const auto child = config.candidate(config.space.mutate(genome, rng), task);
    if (!parent || !child || parent->arch_hash == child->arch_hash) continue;
    ++pairs;
    const InheritancePlan plan = plan_inheritance(parent->network, child->network);
    const double share = inherited_share(plan, child->network);
    EXPECT_TRUE(share >= 0 && share <= 1) << share;
    const double apart = difference(parent->network, child->network, plan);
    EXPECT_TRUE(std::isfinite(apart));
    if (!plan.preserves) continue;
    ++preserved;
    EXPECT_LT(apart, 1e-5) << "pair " << i;
  }
  EXPECT_EQ(pairs, 200);
  EXPECT_GE(preserved, sample.fewest);
  RecordProperty("preserved", preserved);
}

INSTANTIATE_TEST_SUITE_P(Every, MutatedNetworks, testing::ValuesIn(kMutated),
                         [](const auto& info) { return info.param.name; });

// Names of layers that have nothing to do with each other never make a plan claim too much.
TEST(Inheritance, OfUnrelatedNetworksIsFiniteAndClaimsNothingFalse) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Network child = RandomNetwork(seed).build();
    for (std::uint64_t other = seed; other < seed + 3; ++other) {
      const Network parent = RandomNetwork(other).build();
      const InheritancePlan plan = plan_inheritance(parent, child);
      EXPECT_TRUE(other != seed || plan.preserves) << seed;
      if (parent.input_shape() != child.input_shape()) continue;
      const double apart = difference(parent, child, plan);
      if (plan.preserves) {
        EXPECT_LT(apart, 1e-5) << seed << " from " << other;
      }
    }
  }
}

TEST(Inheritance, OfTheSameNetworkCopiesEveryNumber) {
  const Network network = network_of({}, stages(R"("op": "mbconv", "se": true)", 2));
  const InheritancePlan plan = plan_inheritance(network, network);
  const Weights before = trained_weights(network, 3);
  const Weights after = inherited_weights(plan, network, before, network, 4);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].data, after[i].data);
  EXPECT_EQ(inherited_share(plan, network), 1);
}

// A new layer that only passes its input on keeps the statistics that training will measure.
TEST(Inheritance, BatchNormThatUndoesItselfExpectsTheMomentsOfARectifiedNormal) {
  const Network parent = network_of({}, stages(R"("op": "conv")", 1));
  const Network child = network_of({}, stages(R"("op": "conv")", 2));
  Weights before = initial_weights(parent, 3);  // gamma 1, beta 0: standard normal before the relu
  const Weights after =
      inherited_weights(plan_inheritance(parent, child), parent, before, child, 4);
  const auto value = [&](const std::string& name) {
    return std::ranges::find(after, name, &Tensor::name)->data.front();
  };
  EXPECT_NEAR(value("stages.1.1.bn.running_mean"), 0.398942, 1e-5);  // 1 / sqrt(2 pi)
  EXPECT_NEAR(value("stages.1.1.bn.running_var"), 0.340845, 1e-5);   // 1/2 - 1 / (2 pi)
  EXPECT_NEAR(value("stages.1.1.bn.beta"), 0.398942, 1e-5);
}

TEST(Inheritance, ANormGivesTheMomentsOfItsShiftAndItsScale) {
  NetworkBuilder b({2, 1, 1});
  const Network network = b.build(b.add({.kind = LayerKind::kBatchNorm}, {b.input()})).value();
  const std::vector<float> gamma = {-3, 0.5F}, beta = {1, -2};
  const ChannelMoments in{{7, 8}, {9, 10}}, *const inputs[] = {&in};
  const ChannelMoments out = moments_after(
      network.nodes()[1], inputs, {.weight = {}, .bias = {}, .gamma = gamma, .beta = beta});
  EXPECT_EQ(out.mean, (std::vector<double>{1, -2}));
  EXPECT_EQ(out.variance, (std::vector<double>{9, 0.25}));
}

TEST(Inheritance, IsADeterministicFunctionOfItsArguments) {
  const Network parent = network_of({}, stages(R"("op": "conv")", 1));
  const Network child = network_of({}, stages(R"("op": "residual")", 2, 8));
  const InheritancePlan plan = plan_inheritance(parent, child);
  EXPECT_FALSE(plan.preserves);
  const Weights before = trained_weights(parent, 3);
  const Weights one = inherited_weights(plan, parent, before, child, 4);
  const Weights two = inherited_weights(plan, parent, before, child, 4);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].data, two[i].data);
}

}  // namespace
}  // namespace detol

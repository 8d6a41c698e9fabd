// Layers, networks and costs against numbers counted by hand.

#include "encodings/network/layer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/network/cost.h"
#include "encodings/network/network.h"

namespace detol {
namespace {

struct ShapeCase {
  std::string name;
  Layer layer;
  std::vector<Shape> inputs;
  Shape output;
  double flops;
};

constexpr LayerKind kConv = LayerKind::kConv;

const std::vector<ShapeCase> kShapes = {
    {"Conv1", {.kind = kConv, .channels = 5}, {{3, 7, 9}}, {5, 7, 9}, 2 * 5 * 63 * 3},
    {"Conv3", {.kind = kConv, .channels = 5, .kernel = 3}, {{3, 7, 9}}, {5, 7, 9}, 2 * 5 * 63 * 27},
    {"ConvStrideOddSize",
     {.kind = kConv, .channels = 2, .kernel = 3, .stride = 2},
     {{1, 7, 28}},
     {2, 4, 14},
     2 * 2 * 56 * 9},
    {"ConvStrideOnePixel",
     {.kind = kConv, .channels = 2, .kernel = 5, .stride = 2},
     {{1, 1, 1}},
     {2, 1, 1},
     2 * 2 * 25},
    {"ConvDilated",
     {.kind = kConv, .channels = 4, .kernel = 3, .dilation = 2},
     {{4, 8, 8}},
     {4, 8, 8},
     2 * 4 * 64 * 36},
    {"Depthwise",
     {.kind = kConv, .channels = 6, .kernel = 5, .groups = 6},
     {{6, 8, 8}},
     {6, 8, 8},
     2 * 6 * 64 * 25},
    {"ConvOfOneRow",
     {.kind = kConv, .channels = 4, .kernel = 5, .kernel_height = 1, .stride = 2, .dilation = 2},
     {{3, 1, 9}},
     {4, 1, 5},
     2 * 4 * 5 * 15},
    {"ConvOblong",
     {.kind = kConv, .channels = 4, .kernel = 3, .kernel_height = 5},
     {{3, 7, 9}},
     {4, 7, 9},
     2 * 4 * 63 * 45},
    {"Dense", {.kind = LayerKind::kDense, .channels = 10}, {{4, 2, 2}}, {10, 1, 1}, 2 * 16 * 10},
    {"BatchNorm", {.kind = LayerKind::kBatchNorm}, {{4, 2, 3}}, {4, 2, 3}, 0},
    {"MaxPool", {.kind = LayerKind::kMaxPool, .kernel = 3, .stride = 2}, {{4, 7, 7}}, {4, 4, 4}, 0},
    {"AvgPool", {.kind = LayerKind::kAvgPool, .kernel = 3}, {{4, 7, 7}}, {4, 7, 7}, 0},
    {"PoolEven",
     {.kind = LayerKind::kMaxPool, .kernel = 2, .stride = 2},
     {{4, 7, 6}},
     {4, 3, 3},
     0},
    {"PoolOfOneRow",
     {.kind = LayerKind::kAvgPool, .kernel = 4, .kernel_height = 1, .stride = 2},
     {{4, 1, 9}},
     {4, 1, 4},
     0},
    {"Concat", {.kind = LayerKind::kConcat}, {{4, 7, 7}, {1, 7, 7}, {3, 7, 7}}, {8, 7, 7}, 0},
    {"LayerNorm", {.kind = LayerKind::kLayerNorm}, {{4, 7, 7}}, {4, 7, 7}, 0},
    {"GlobalAvgPool", {.kind = LayerKind::kGlobalAvgPool}, {{4, 7, 7}}, {4, 1, 1}, 0},
    {"Flatten", {.kind = LayerKind::kFlatten}, {{4, 7, 7}}, {196, 1, 1}, 0},
    {"Add", {.kind = LayerKind::kAdd}, {{4, 7, 7}, {4, 7, 7}, {4, 7, 7}}, {4, 7, 7}, 0},
    {"Scale", {.kind = LayerKind::kScale}, {{4, 7, 7}, {4, 1, 1}}, {4, 7, 7}, 0},
    {"ScaleOfEachElement", {.kind = LayerKind::kScale}, {{4, 7, 7}, {4, 7, 7}}, {4, 7, 7}, 0},
    {"Dropout", {.kind = LayerKind::kDropout, .rate = 0.5}, {{4, 7, 7}}, {4, 7, 7}, 0},
};

void PrintTo(const ShapeCase& row, std::ostream* out) {
  *out << row.name;
}

class LayerShape : public testing::TestWithParam<ShapeCase> {};

TEST_P(LayerShape, IsAsCountedByHand) {
  const auto shape = output_shape(GetParam().layer, GetParam().inputs);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(*shape, GetParam().output);
  EXPECT_EQ(flops_of(GetParam().layer, GetParam().inputs, *shape), GetParam().flops);
}

INSTANTIATE_TEST_SUITE_P(Table, LayerShape, testing::ValuesIn(kShapes),
                         [](const auto& row) { return row.param.name; });

std::string mistake_of(const Layer& layer, const std::vector<Shape>& inputs) {
  const auto shape = output_shape(layer, inputs);
  return shape ? "" : shape.error().message;
}

TEST(Layer, ImpossibleOnesSayWhichRuleTheyBreak) {
  EXPECT_EQ(mistake_of({.kind = LayerKind::kAdd}, {{4, 2, 2}, {4, 2, 1}}),
            "add: inputs differ: 4x2x2 and 4x2x1");
  EXPECT_EQ(mistake_of({.kind = LayerKind::kAdd}, {{4, 2, 2}}), "add: 1 inputs");
  EXPECT_EQ(mistake_of({.kind = LayerKind::kScale}, {{4, 2, 2}, {3, 1, 1}}),
            "scale: 3x1x1 cannot scale 4x2x2");
  EXPECT_EQ(mistake_of({.kind = kConv, .channels = 4, .kernel = 2}, {{4, 2, 2}}),
            "conv: kernel 2 must be odd");
  EXPECT_EQ(
      mistake_of({.kind = kConv, .channels = 4, .kernel = 3, .kernel_height = 4}, {{4, 9, 9}}),
      "conv: kernel 4 must be odd");
  EXPECT_EQ(mistake_of({.kind = LayerKind::kMaxPool, .dilation = 2}, {{4, 2, 2}}),
            "max_pool: it has no dilation");
  EXPECT_EQ(mistake_of({.kind = LayerKind::kConcat}, {{4, 2, 2}, {4, 2, 1}}),
            "concat: inputs differ: 4x2x2 and 4x2x1");
  EXPECT_EQ(mistake_of({.kind = kConv, .channels = 4, .groups = 3}, {{4, 2, 2}}),
            "conv: 3 groups divide neither 4 inputs nor 4 outputs");
  EXPECT_EQ(mistake_of({.kind = kConv}, {{4, 2, 2}}), "conv: 0 output channels");
  EXPECT_EQ(mistake_of({.kind = LayerKind::kDense}, {{4, 2, 2}}), "dense: 0 outputs");
}

TEST(Layer, SizesBeyondAnyMachineAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const Layer& layer : {Layer{.kind = kConv, .channels = huge},
                             Layer{.kind = kConv, .channels = std::int64_t{1} << 39},
                             Layer{.kind = LayerKind::kDense, .channels = huge}}) {
    EXPECT_NE(mistake_of(layer, {{4, 1024, 1024}}), "");
  }
}

std::string specs_of(const Layer& layer, const Shape& input) {
  std::string text;
  for (const ParameterSpec& spec : parameters_of(layer, std::vector{input})) {
    text += std::string(spec.name) + ":";
    for (std::int64_t extent : spec.shape) text += std::to_string(extent) + ",";
    text += std::string(spec.trainable ? "t" : "") + (spec.decays ? "d" : "") + " ";
  }
  return text;
}

TEST(Layer, OwnsTheTensorsOfItsKind) {
  EXPECT_EQ(
      specs_of({.kind = kConv, .channels = 8, .kernel = 3, .groups = 2, .bias = true}, {4, 9, 9}),
      "weight:8,2,3,3,td bias:8,t ");
  EXPECT_EQ(specs_of({.kind = kConv, .channels = 8, .kernel = 5, .kernel_height = 1}, {4, 1, 9}),
            "weight:8,4,1,5,td ");
  EXPECT_EQ(specs_of({.kind = LayerKind::kLayerNorm}, {4, 3, 3}), "gamma:4,t beta:4,t ");
  EXPECT_EQ(specs_of({.kind = LayerKind::kDense, .channels = 10}, {4, 3, 3}), "weight:10,36,td ");
  EXPECT_EQ(specs_of({.kind = LayerKind::kBatchNorm}, {4, 3, 3}),
            "gamma:4,t beta:4,t running_mean:4, running_var:4, ");
  EXPECT_EQ(specs_of({.kind = LayerKind::kDropout, .rate = 0.1}, {4, 3, 3}), "");
}

TEST(NetworkBuilder, DropsDeadEndsAndOrdersTheRest) {
  NetworkBuilder builder({4, 8, 8});
  const NodeId a = builder.add({.kind = LayerKind::kBatchNorm}, {builder.input()}, "a");
  builder.add({.kind = LayerKind::kFlatten}, {a}, "dead");
  const NodeId b = builder.add({.kind = LayerKind::kActivation}, {a}, "b");
  const NodeId sum = builder.add({.kind = LayerKind::kAdd}, {a, b}, "sum");
  const Network network = builder.build(sum).value();
  std::string names;
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    names += network.nodes()[id].name + " ";
    for (NodeId input : network.nodes()[id].inputs) EXPECT_LT(input, id);
  }
  EXPECT_EQ(names, "input a b sum ");
  EXPECT_EQ(network.output().inputs, (std::vector<NodeId>{1, 2}));
}

TEST(NetworkBuilder, RemembersTheFirstMistake) {
  NetworkBuilder builder({4, 8, 8});
  const NodeId bad =
      builder.add({.kind = kConv, .channels = 3, .kernel = 4}, {builder.input()}, "c");
  const auto network = builder.build(builder.add({.kind = LayerKind::kFlatten}, {bad}));
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().message.substr(0, 24), "c: conv: kernel 4 must b");
}

// A convolution with batch norm on 4 x 8 x 8, then a linear layer.
TEST(Cost, CountsParametersFlopsAndActivations) {
  NetworkBuilder builder({4, 8, 8});
  NodeId x = builder.add({.kind = kConv, .channels = 8, .kernel = 3}, {builder.input()});
  x = builder.add({.kind = LayerKind::kBatchNorm}, {x});
  x = builder.add({.kind = LayerKind::kGlobalAvgPool}, {x});
  x = builder.add({.kind = LayerKind::kDense, .channels = 10, .bias = true}, {x});
  const Cost cost = cost_of(builder.build(x).value()).value();
  EXPECT_EQ(cost.params, 9 * 4 * 8 + 16 + 90);
  EXPECT_EQ(cost.flops, 2 * 64 * 8 * 36 + 2 * 80);
  EXPECT_EQ(cost.activations, 4 * 64 + 8 * 64 + 8 * 64 + 8 + 10);
}

TEST(Cost, OfAConvolutionFallsWithItsGroups) {
  const auto flops = [](std::int64_t groups) {
    NetworkBuilder builder({4, 8, 8});
    const Layer conv{.kind = kConv, .channels = 8, .kernel = 3, .groups = groups};
    return cost_of(builder.build(builder.add(conv, {builder.input()})).value())->flops;
  };
  EXPECT_EQ(flops(1), 2 * 8 * 8 * 8 * 4 * 9);
  EXPECT_EQ(flops(2), flops(1) / 2);
  EXPECT_EQ(flops(4), flops(1) / 4);
}

TEST(Cost, BeyondCountingIsAnError) {
  NetworkBuilder builder({1 << 20, 1, 1});
  NodeId x = builder.input();
  for (int i = 0; i < 4; ++i)
    x = builder.add({.kind = LayerKind::kDense, .channels = std::int64_t{1} << 40}, {x});
  EXPECT_FALSE(cost_of(builder.build(x).value()));
}

// Levels of 0.5 from -5, which is level 0, to 122.5, which is level 255.
TEST(Layer, AQuantizedNumberIsTheNearestLevelThatThereIs) {
  const Layer layer{.kind = LayerKind::kQuantize, .scale = 0.5f, .zero_point = 10};
  EXPECT_EQ(on_levels(layer, 1.2f), 1);
  EXPECT_EQ(on_levels(layer, -1.3f), -1.5);
  EXPECT_EQ(on_levels(layer, 0), 0);
  EXPECT_EQ(on_levels(layer, -100), -5);
  EXPECT_EQ(on_levels(layer, 1000), 122.5);
}

TEST(Constraints, NameEveryBrokenOneWithItsNumbers) {
  const Cost cost{.params = 1'234'567, .flops = 999, .activations = 5, .memory = 2'000};
  EXPECT_EQ(broken_constraints(cost, {}), "");
  EXPECT_EQ(broken_constraints(cost, {.max_params = 1e6, .max_flops = 999}),
            "params 1,234,567 > 1,000,000");
  EXPECT_EQ(broken_constraints(cost, {.max_params = 1e6, .max_flops = 998, .max_memory = 1e3}),
            "params 1,234,567 > 1,000,000; flops 999 > 998; memory 2,000 > 1,000");
}

TEST(Constraints, OfAMemoryThatIsNotKnownYetHold) {
  EXPECT_EQ(broken_constraints({.params = 1}, {.max_memory = 0}), "");
}

}  // namespace
}  // namespace detol

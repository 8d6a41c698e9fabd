// Encoding `chain`: every operation's layers, shapes, parameters and FLOPs, against numbers
// counted by hand.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/network/cost.h"
#include "encodings/study/encodings.h"

namespace detol {
namespace {

const Task kTask{{8, 12, 12}, 10};

Network decode(const std::string& architecture, const Task& task = kTask) {
  const auto network =
      find_row(encodings(), "chain")->decode(nlohmann::json::parse(architecture), task);
  EXPECT_TRUE(network) << network.error().message;
  return network.value_or(Network{});
}

// One stage of one block, without a stem, on an 8 x 12 x 12 image; the head is a 10-way linear.
Network decode_block(const std::string& block, const std::string& stage = "") {
  return decode(
      fmt::format(R"({{"stem": {{"op": "none"}}, "stages": [{{"block": {}{}}}]}})", block, stage));
}

// Returns "name:kind ..." of the block's layers, without stem and head.
std::string layers_of(const Network& network) {
  std::string text;
  for (const Node& node : network.nodes()) {
    if (!node.name.starts_with("stages.")) continue;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", node.name.substr(11),
                        to_text(node.layer.kind));
  }
  return text;
}

// Returns the cost without the head's linear layer.
Cost cost_of_block(const Network& network) {
  Cost cost = cost_of(network).value();
  const std::int64_t channels = network.input_shapes(network.nodes().size() - 1)[0].channels;
  cost.params -= 10 * channels + 10;
  cost.flops -= 2 * 10 * channels;
  return cost;
}

struct Case {
  std::string name, block, stage, layers;
  std::int64_t params, flops;
};

// A 3x3 conv 8 -> 8 on 12 x 12: 9*8*8 = 576 weights, 2*576*144 = 165,888 flops; bn 8: 16.
const std::vector<Case> kCases = {
    {"Conv", R"({"op": "conv"})", "", "conv:conv bn:batch_norm act:activation", 576 + 16, 165'888},
    {"ConvStride", R"({"op": "conv", "kernel": 5})", R"(, "stride": 2, "channels": 16)",
     "conv:conv bn:batch_norm act:activation", 25 * 8 * 16 + 32, 2 * 25 * 8 * 16 * 36},
    {"ConvDilated", R"({"op": "conv", "dilation": 3})", "",
     "conv:conv bn:batch_norm act:activation", 576 + 16, 165'888},
    {"ConvSe", R"({"op": "conv", "se": true, "dropout": 0.1})", "",
     "conv:conv bn:batch_norm act:activation se.pool:global_avg_pool se.reduce:dense "
     "se.act:activation se.expand:dense se.gate:activation se.scale:scale dropout:dropout",
     576 + 16 + (8 * 2 + 2) + (2 * 8 + 8), 165'888 + 2 * 16 + 2 * 16},
    {"Residual", R"({"op": "residual"})", "",
     "conv1:conv bn1:batch_norm act1:activation conv2:conv bn2:batch_norm add:add act2:activation",
     2 * (576 + 16), 2 * 165'888},
    {"ResidualProjection", R"({"op": "residual"})", R"(, "stride": 2, "channels": 16)",
     "shortcut.conv:conv shortcut.bn:batch_norm conv1:conv bn1:batch_norm act1:activation "
     "conv2:conv bn2:batch_norm add:add act2:activation",
     (9 * 8 * 16 + 32) + (9 * 16 * 16 + 32) + (8 * 16 + 32),
     2 * 36 * (9 * 8 * 16 + 9 * 16 * 16 + 8 * 16)},
    {"Mbconv", R"({"op": "mbconv", "expansion": 2})", "",
     "expand.conv:conv expand.bn:batch_norm expand.act:activation depthwise.conv:conv "
     "depthwise.bn:batch_norm depthwise.act:activation project.conv:conv project.bn:batch_norm "
     "add:add",
     (8 * 16 + 32) + (9 * 16 + 32) + (16 * 8 + 16), 2 * 144 * (8 * 16 + 9 * 16 + 16 * 8)},
    {"MbconvStride", R"({"op": "mbconv", "expansion": 1})", R"(, "stride": 2)",
     "depthwise.conv:conv depthwise.bn:batch_norm depthwise.act:activation project.conv:conv "
     "project.bn:batch_norm",
     (9 * 8 + 16) + (8 * 8 + 16), 2 * 36 * (9 * 8 + 8 * 8)},
    {"SeparableConv", R"({"op": "separable_conv"})", R"(, "channels": 16)",
     "depthwise:conv pointwise:conv bn:batch_norm act:activation", 9 * 8 + 8 * 16 + 32,
     2 * 144 * (9 * 8 + 8 * 16)},
    {"MaxPool", R"({"op": "max_pool"})", R"(, "stride": 2)", "pool:max_pool", 0, 0},
    {"AvgPoolWider", R"({"op": "avg_pool"})", R"(, "channels": 16)",
     "pool:avg_pool shortcut.conv:conv shortcut.bn:batch_norm", 8 * 16 + 32, 2 * 144 * 8 * 16},
    {"Identity", R"({"op": "identity", "se": true})", "", "", 0, 0},
    {"IdentityStride", R"({"op": "identity"})", R"(, "stride": 2)", "pool:avg_pool", 0, 0},
    {"IdentityWider", R"({"op": "identity"})", R"(, "stride": 2, "channels": 16)",
     "shortcut.conv:conv shortcut.bn:batch_norm", 8 * 16 + 32, 2 * 36 * 8 * 16},
    {"Attention", R"({"op": "attention", "heads": 2, "activation": "gelu", "dropout": 0.1})", "",
     "ln1:layer_norm qkv:conv attention:attention out:conv add1:add ln2:layer_norm expand:conv "
     "act:activation dropout:dropout project:conv add2:add",
     16 + (8 * 24 + 24) + (8 * 8 + 8) + 16 + (8 * 32 + 32) + (32 * 8 + 8),
     2 * 144 * (8 * 24 + 8 * 8 + 2 * 8 * 32) + 4 * 8 * 144 * 144},
    {"AttentionGated", R"({"op": "attention", "heads": 1, "activation": "silu", "gated": true})",
     "",
     "ln1:layer_norm qkv:conv attention:attention out:conv add1:add ln2:layer_norm gate:conv "
     "act:activation expand:conv gated:scale project:conv add2:add",
     16 + (8 * 24 + 24) + (8 * 8 + 8) + 16 + 2 * (8 * 32 + 32) + (32 * 8 + 8),
     2 * 144 * (8 * 24 + 8 * 8 + 3 * 8 * 32) + 4 * 8 * 144 * 144},
    {"AttentionSharesKeys",
     R"({"op": "attention", "heads": 4, "key_heads": 1, "causal": true, "norm": "rms", "expansion": 1})",
     R"(, "stride": 2, "channels": 16)",
     "reduce:conv ln1:rms_norm qkv:conv attention:attention out:conv add1:add ln2:rms_norm "
     "expand:conv act:activation project:conv add2:add",
     (9 * 8 * 16 + 16) + 16 + (16 * 24 + 24) + 3 * (16 * 16 + 16) + 16,
     2 * 36 * (9 * 8 * 16 + 16 * 24 + 3 * 16 * 16) + 2 * 16 * 36 * 37},
    {"Dense", R"({"op": "dense"})", R"(, "channels": 20)",
     "dense:dense bn:batch_norm act:activation", 8 * 144 * 20 + 40, 2 * 8 * 144 * 20},
    {"DenseLayerNorm", R"({"op": "dense", "norm": "layer"})", R"(, "channels": 20)",
     "dense:dense ln:layer_norm act:activation", 8 * 144 * 20 + 20 + 40, 2 * 8 * 144 * 20},
    {"DenseWithoutNorm", R"({"op": "dense", "norm": "none"})", R"(, "channels": 20)",
     "dense:dense act:activation", 8 * 144 * 20 + 20, 2 * 8 * 144 * 20},
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.block << row.stage;
}

class ChainBlock : public testing::TestWithParam<Case> {};

TEST_P(ChainBlock, ExpandsAsDocumented) {
  const Case& row = GetParam();
  const Network network = decode_block(row.block, row.stage);
  EXPECT_EQ(layers_of(network), row.layers);
  EXPECT_EQ(cost_of_block(network).params, row.params);
  EXPECT_EQ(cost_of_block(network).flops, row.flops);
}

INSTANTIATE_TEST_SUITE_P(Table, ChainBlock, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

Shape shape_of(const Network& network, std::string_view name) {
  for (const Node& node : network.nodes()) {
    if (node.name == name) return node.shape;
  }
  ADD_FAILURE() << "no layer " << name;
  return {};
}

TEST(Chain, LaterStagesHalveTheSizeAndDoubleTheChannelsUnlessToldOtherwise) {
  const Network network = decode(R"({"stem": {"channels": 6, "stride": 2}, "stages": [
      {"depth": 2, "block": {"op": "conv"}}, {"depth": 2, "block": {"op": "conv"}},
      {"block": {"op": "conv"}, "stride": 1, "channels": 5}, {"block": {"op": "conv"}}]})",
                                 {{3, 32, 32}, 10});
  EXPECT_EQ(shape_of(network, "stem.act"), (Shape{6, 16, 16}));
  EXPECT_EQ(shape_of(network, "stages.0.1.act"), (Shape{6, 16, 16}));
  EXPECT_EQ(shape_of(network, "stages.1.0.act"), (Shape{12, 8, 8}));
  EXPECT_EQ(shape_of(network, "stages.1.1.act"), (Shape{12, 8, 8}));
  EXPECT_EQ(shape_of(network, "stages.2.0.act"), (Shape{5, 8, 8}));
  EXPECT_EQ(shape_of(network, "stages.3.0.act"), (Shape{10, 4, 4}));
  EXPECT_EQ(network.output().shape, (Shape{10, 1, 1}));
}

TEST(Chain, HeadMayFlattenAndHaveAHiddenLayer) {
  const Network network =
      decode(R"({"stem": {"op": "none"}, "stages": [{"block": {"op": "identity"}}],
      "head": {"op": "flatten_linear", "hidden": 7, "dropout": 0.25, "activation": "silu"}})");
  std::string names;
  for (const Node& node : network.nodes()) names += node.name + " ";
  EXPECT_EQ(names, "input head.flatten head.hidden head.act head.dropout head.linear ");
  EXPECT_EQ(cost_of(network)->params, 8 * 144 * 7 + 7 + 7 * 10 + 10);
}

TEST(Chain, ActivationsReachEveryLayerOfTheirBlock) {
  const Network network = decode(
      R"({"stem": {"op": "conv_bn_silu"},
          "stages": [{"block": {"op": "mbconv", "activation": "silu", "se": true}}]})");
  for (const Node& node : network.nodes()) {
    if (node.layer.kind != LayerKind::kActivation) continue;
    const bool is_gate = node.name.ends_with("se.gate");
    EXPECT_EQ(node.layer.activation, is_gate ? Activation::kSigmoid : Activation::kSilu);
  }
}

TEST(Chain, SlidesWindowsOfOneRowOverSequences) {
  const Network network = decode(R"({"stages": [{"block": {"op": "conv", "dilation": 2}},
      {"block": {"op": "mbconv", "kernel": 5}}, {"block": {"op": "max_pool"}}]})",
                                 {{2, 1, 32}, 4});
  EXPECT_EQ(shape_of(network, "stages.0.0.act"), (Shape{16, 1, 32}));
  EXPECT_EQ(shape_of(network, "stages.1.0.project.bn"), (Shape{32, 1, 16}));
  EXPECT_EQ(shape_of(network, "stages.2.0.pool"), (Shape{32, 1, 8}));
  for (const Node& node : network.nodes()) {
    if (node.layer.kernel > 1) {
      EXPECT_EQ(height_of(node.layer), 1) << node.name;
    }
  }
}

TEST(Chain, TinyImagesStopAtOnePixel) {
  const Network network =
      decode(R"({"stages": [{"block": {"op": "conv"}}, {"block": {"op": "conv"}},
      {"block": {"op": "max_pool"}}, {"block": {"op": "identity"}}]})",
             {{1, 2, 3}, 2});
  EXPECT_EQ(network.output().shape, (Shape{2, 1, 1}));
}

}  // namespace
}  // namespace detol

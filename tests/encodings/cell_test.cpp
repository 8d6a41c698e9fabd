// Tests of encoding `cell`: the choices that a section implies, and its networks against published
// figures of NAS-Bench-201.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "core/table.h"
#include "encodings/network/canonical.h"
#include "encodings/network/cost.h"
#include "encodings/study/encodings.h"
#include "tests/encodings/cell_file.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

using nlohmann::json;

const EncodingRow& cell_row() {
  return *find_row(encodings(), "cell");
}

const std::vector<std::string> kNb201Operations = {"none", "skip_connect", "nor_conv_1x1",
                                                   "nor_conv_3x3", "avg_pool_3x3"};

// The architecture of six edges in the skeleton of these stages, cells and channels.
json nb201(const std::vector<std::string>& edges, int stages, int cells, int channels) {
  return {{"cell", {{"nodes", 4}, {"edges", "op_on_edge"}, {"edge", edges}}},
          {"macro", {{"stages", stages}, {"cells_per_stage", cells}, {"channels", channels}}}};
}

TEST(EdgeCell, ImpliesOneOperationForEveryEdge) {
  const StudyConfig study = load(cell_file(kNb201Cell));
  EXPECT_EQ(choices_of(study),
            "architecture.cell.edge[0] architecture.cell.edge[1] architecture.cell.edge[2] "
            "architecture.cell.edge[3] architecture.cell.edge[4] architecture.cell.edge[5]");
  EXPECT_EQ(study.space.cardinality(), 15'625);
  EXPECT_EQ(accepted_values(study.space.domains()[0]),
            "none, skip_connect, nor_conv_1x1, nor_conv_3x3, avg_pool_3x3");
}

TEST(EdgeCell, EveryEdgeCountsSoThatTablesMayTellTwinsApart) {
  const StudyConfig study = load(cell_file(kNb201Cell));
  const Genome genome(std::make_shared<const std::vector<Domain>>(study.space.domains().begin(),
                                                                  study.space.domains().end()),
                      std::vector<double>(6, 0));
  EXPECT_EQ(study.space.expressed(genome), std::vector<bool>(6, true));
}

TEST(EdgeCell, IsWrittenAsTheBenchmarkWritesIt) {
  const StudyConfig study = load(cell_file(kNb201Cell));
  std::vector<std::pair<std::string, Value>> edges;
  for (std::size_t i = 0; i < 6; ++i)
    edges.emplace_back(study.space.domains()[i].name, kNb201Operations[i % 5]);
  const Genome genome = study.space.genome(edges).value();
  EXPECT_EQ(cell_row().key(json::parse(study.architecture_json(genome))),
            "|none~0|+|skip_connect~0|nor_conv_1x1~1|+|nor_conv_3x3~0|avg_pool_3x3~1|none~2|");
}

struct Published {
  std::vector<std::string> edges;
  std::int64_t params;
};

// Parameters of NAS-Bench-201's own networks for CIFAR-10.
const std::vector<Published> kPublished = {
    {{"avg_pool_3x3", "nor_conv_1x1", "skip_connect", "nor_conv_1x1", "skip_connect",
      "skip_connect"},
     129'306},
    {{"nor_conv_3x3", "nor_conv_3x3", "avg_pool_3x3", "skip_connect", "nor_conv_3x3",
      "skip_connect"},
     802'426},
    {{"nor_conv_3x3", "nor_conv_3x3", "nor_conv_3x3", "nor_conv_3x3", "nor_conv_3x3",
      "nor_conv_3x3"},
     1'531'546},
    {{"avg_pool_3x3", "nor_conv_1x1", "nor_conv_1x1", "skip_connect", "nor_conv_1x1",
      "nor_conv_3x3"},
     400'346},
};

TEST(EdgeCell, HasTheParametersOfThePublishedNetworks) {
  for (const Published& row : kPublished) {
    const Network network =
        cell_row().decode(nb201(row.edges, 3, 5, 16), {{3, 32, 32}, 10}).value();
    const Cost cost = cost_of(network).value();
    EXPECT_EQ(cost.params, row.params);
  }
}

TEST(EdgeCell, IsRefusedIfNothingReachesItsOutput) {
  const auto network = cell_row().decode(
      nb201({"skip_connect", "skip_connect", "none", "none", "none", "none"}, 1, 1, 4),
      {{1, 8, 8}, 2});
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().message, "nothing reaches the cell's output: `none` cuts every path");
}

// Of four channels, by hand: k x k weights for each pair of channels, or for each channel where it
// is depthwise, and 8 numbers of each batch norm.
TEST(CellOperations, HaveTheParametersThatTheirPapersCount) {
  const std::vector<std::pair<std::string, std::int64_t>> operations = {
      {"max_pool_7x7", 0},
      {"avg_pool_3x3", 0},
      {"nor_conv_5x5", 25 * 16 + 8},
      {"sep_conv_3x3", 2 * (9 * 4 + 16 + 8)},
      {"sep_conv_7x7", 2 * (49 * 4 + 16 + 8)},
      {"dil_conv_5x5", 25 * 4 + 16 + 8},
      {"conv_3x1_1x3", 2 * 3 * 16 + 8}};
  const auto params_with = [](const std::string& operation) {
    json architecture = nb201({operation}, 1, 1, 4);
    architecture["cell"]["nodes"] = 2;
    return cost_of(cell_row().decode(architecture, {{3, 8, 8}, 10}).value())->params;
  };
  const std::int64_t others = params_with("skip_connect");
  for (const auto& [operation, params] : operations)
    EXPECT_EQ(params_with(operation) - others, params) << operation;
}

// Two stages of one cell each: in between the reduction cell halves the image, doubles the
// channels, and leaves the cell after it two inputs of different sizes.
TEST(NodeCell, IsRepeatedAsDartsRepeatsIt) {
  const json architecture = json::parse(R"({
      "cell": {"edges": "op_on_node", "nodes": 1},
      "macro": {"stages": 2, "cells_per_stage": 1, "channels": 4},
      "normal": {"node": [{"input": ["input0", "input1"],
                           "op": ["dil_conv_3x3", "sep_conv_3x3"]}]},
      "reduction": {"node": [{"input": ["input0", "input1"],
                              "op": ["max_pool_3x3", "skip_connect"]}]}})");
  const Network network = cell_row().decode(architecture, {{3, 8, 8}, 10}).value();
  const auto named = [&](std::string_view name) {
    for (const Node& node : network.nodes()) {
      if (node.name == name) return node;
    }
    ADD_FAILURE() << "no layer " << name;
    return Node{};
  };
  EXPECT_EQ(named("stem.conv").shape, (Shape{12, 8, 8}));
  EXPECT_EQ(named("stages.0.0.node0.add").shape, (Shape{4, 8, 8}));
  EXPECT_EQ(named("stages.1.reduction.preprocess0.conv").shape, (Shape{8, 8, 8}));
  EXPECT_EQ(named("stages.1.reduction.node0.add").shape, (Shape{8, 4, 4}));
  EXPECT_EQ(named("stages.1.0.preprocess0.conv").layer.stride, 2);
  EXPECT_EQ(named("stages.1.0.preprocess1.conv").layer.stride, 1);
  EXPECT_EQ(named("stages.1.0.node0.add").shape, (Shape{8, 4, 4}));
  const Layer dilated = named("stages.0.0.node0.input0.depthwise").layer;
  EXPECT_EQ(dilated.dilation, 2);
  EXPECT_EQ(dilated.groups, 4);
  EXPECT_EQ(named("stages.0.0.node0.input1.depthwise1").layer.dilation, 1);
}

}  // namespace
}  // namespace detol

// Tests of the graphs of architectures: of every encoding in configs/ and of cells made by hand.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/hash.h"
#include "tests/encodings/cell_file.h"
#include "tests/encodings/random_genomes.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

StudyConfig shipped(const std::string& name) {
  return read_study_config(DETOL_SOURCE_DIR "/configs/" + name + ".yaml").value();
}

class GraphsOf : public testing::TestWithParam<std::string> {};

TEST_P(GraphsOf, HaveEdgesBetweenTheirVertices) {
  const Space space = shipped(GetParam()).space;
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    const auto graph = space.graph(space.sample(rng));
    ASSERT_TRUE(graph);
    ASSERT_FALSE(graph->labels.empty());
    for (const auto& [from, to] : graph->edges) {
      ASSERT_LT(from, to);
      ASSERT_LT(to, graph->labels.size());
    }
  }
}

TEST_P(GraphsOf, StayWhatTheyAreWhenUnexpressedChoicesChange) {
  const Space space = shipped(GetParam()).space;
  Rng rng(2);
  for (const Genome& genome : random_genomes(space, 40)) {
    const Genome other = with_other_unexpressed(space, genome, rng);
    if (space.identity(other) == space.identity(genome)) {
      EXPECT_EQ(space.graph(other), space.graph(genome));
    }
  }
}

TEST_P(GraphsOf, TellArchitecturesApart) {
  const Space space = shipped(GetParam()).space;
  Rng rng(3);
  std::set<std::vector<std::uint64_t>> labels;
  for (int i = 0; i < 50; ++i) labels.insert(space.graph(space.sample(rng))->labels);
  EXPECT_GT(labels.size(), 25u);
}

INSTANTIATE_TEST_SUITE_P(Shipped, GraphsOf,
                         testing::Values("cgp_resset", "cnn", "cnn_large", "conv1d", "darts_cells",
                                         "graph", "hybrid", "metaqnn", "mlp_table", "nasbench201"),
                         [](const auto& tested) { return tested.param; });

TEST(Graphs, AreNoneWhereNothingOfTheArchitectureIsOpen) {
  EXPECT_FALSE(shipped("resnet_hpo").space.has_graph());
  const Space plain = SpaceBuilder().add_float("x", 0, 1).build().value();
  EXPECT_FALSE(plain.graph(plain.at(std::vector{0.5})));
}

// The NAS-Bench-201 cell with these operations on its edges 0-1, 0-2, 1-2, 0-3, 1-3, 2-3.
LabelledGraph cell_of(const std::vector<std::string>& edges) {
  const Space space = load(cell_file(kNb201Cell)).space;
  std::vector<std::pair<std::string, Value>> values;
  for (const std::string& edge : edges)
    values.emplace_back("architecture.cell.edge[" + std::to_string(values.size()) + "]", edge);
  return space.graph(space.genome(values).value()).value();
}

LabelledGraph graph_of(const std::vector<std::string>& words,
                       std::vector<std::pair<std::size_t, std::size_t>> edges) {
  LabelledGraph graph{{}, std::move(edges)};
  for (const std::string& word : words) graph.labels.push_back(hash64(word));
  return graph;
}

TEST(Graphs, OfACellHaveItsOperationsAsVertices) {
  EXPECT_EQ(
      cell_of({"nor_conv_3x3", "none", "nor_conv_1x1", "none", "avg_pool_3x3", "none"}),
      graph_of({"input", "nor_conv_3x3", "avg_pool_3x3", "output"}, {{0, 1}, {1, 2}, {2, 3}}));
}

TEST(Graphs, OfACellReadEveryPartOfASumAndLeadThroughSkips) {
  EXPECT_EQ(cell_of({"skip_connect", "avg_pool_3x3", "nor_conv_3x3", "none", "skip_connect",
                     "nor_conv_1x1"}),
            graph_of({"input", "avg_pool_3x3", "nor_conv_3x3", "nor_conv_1x1", "output"},
                     {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 4}, {3, 4}}));
}

TEST(Graphs, OfACellWithoutAWayToItsOutputHaveTheOutputAlone) {
  EXPECT_EQ(cell_of({"nor_conv_3x3", "none", "none", "none", "none", "nor_conv_3x3"}),
            graph_of({"output"}, {}));
}

TEST(Graphs, OfAChainAreItsBlocksInTheirOrder) {
  const Space space =
      load(file_of("chain",
                   "  stages:\n    - {channels: 24, depth: {type: int, low: 1, high: 2}, "
                   "block: {op: conv}}\n    - {block: {op: {type: categorical, choices: "
                   "[dense, identity]}}}\n"))
          .space;
  const auto graph_with = [&](std::int64_t depth, const std::string& op) {
    return space.graph(space
                           .genome({{{"architecture.stages[0].depth", depth},
                                     {"architecture.stages[1].block.op", op}}})
                           .value());
  };
  const auto graph = graph_with(2, "dense");
  ASSERT_EQ(graph->labels.size(), 9u);  // input stem width conv conv width dense head output
  EXPECT_EQ(graph->labels[2], hash64("width 16"));
  EXPECT_EQ(graph->labels[3], graph->labels[4]);
  EXPECT_EQ(graph->labels[6], hash64("dense"));
  EXPECT_EQ(graph_with(1, "identity")->labels.size(), 7u);
}

TEST(Graphs, OfTwoCellsHaveDifferentLabels) {
  const Space space = load(cell_file(kDartsCell)).space;
  Rng rng(4);
  const LabelledGraph graph = space.graph(space.sample(rng)).value();
  const auto outputs = std::ranges::count(graph.labels, hash64("normal.output")) +
                       std::ranges::count(graph.labels, hash64("reduction.output"));
  EXPECT_EQ(outputs, 2);
}

}  // namespace
}  // namespace detol

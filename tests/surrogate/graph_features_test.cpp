// The Weisfeiler-Lehman kernel: by hand, on all small graphs, and on the architectures of every
// encoding.

#include "surrogate/graph_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/study/encodings.h"
#include "surrogate/cholesky.h"
#include "surrogate/features.h"
#include "tests/encodings/cell_file.h"
#include "tests/encodings/random_genomes.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

// a -> b -> a and a -> b: level 0 counts {a: 2, b: 1} and {a: 1, b: 1}; level 1 has the three
// labels a(;b) b(a;a) a(b;) and the two a(;b) b(a;), of which one is equal.
TEST(GraphKernel, IsWhatTwoTinyGraphsGiveByHand) {
  const GraphFeatures path = graph_features({{10, 20, 10}, {{0, 1}, {1, 2}}});
  const GraphFeatures pair = graph_features({{10, 20}, {{0, 1}}});
  EXPECT_NEAR(graph_kernel(path, pair, 0), 3 / std::sqrt(5 * 2), 1e-15);
  EXPECT_NEAR(graph_kernel(path, pair, 1), (3 + 1) / std::sqrt((5 + 3) * (2 + 2)), 1e-15);
  EXPECT_NEAR(graph_kernel(path, pair, 2), (3 + 1) / std::sqrt((5 + 3 + 3) * (2 + 2 + 2)), 1e-15);
}

TEST(GraphKernel, TellsTheDirectionOfAnEdge) {
  const GraphFeatures forth = graph_features({{1, 2}, {{0, 1}}});
  const GraphFeatures back = graph_features({{1, 2}, {{1, 0}}});
  EXPECT_NEAR(graph_kernel(forth, back, 0), 1, 1e-15);
  EXPECT_NEAR(graph_kernel(forth, back, 1), 0.5, 1e-15);
}

TEST(GraphKernels, AreThoseOfEachDepth) {
  const GraphFeatures path = graph_features({{10, 20, 10}, {{0, 1}, {1, 2}}});
  for (const LabelledGraph& other :
       {LabelledGraph{{10, 20}, {{0, 1}}}, LabelledGraph{{10, 30}, {{0, 1}}},
        LabelledGraph{{30}, {}}, LabelledGraph{{10, 20, 10}, {{1, 2}, {0, 1}}}}) {
    const GraphFeatures features = graph_features(other);
    for (int depth = 0; depth < GraphFeatures::kLevels; ++depth)
      EXPECT_EQ(graph_kernels(path, features)[static_cast<std::size_t>(depth)],
                graph_kernel(path, features, depth));
  }
}

LabelledGraph renumbered(const LabelledGraph& graph, const std::vector<std::size_t>& number) {
  LabelledGraph other{std::vector<std::uint64_t>(graph.labels.size()), {}};
  for (std::size_t i = 0; i < number.size(); ++i) other.labels[number[i]] = graph.labels[i];
  for (const auto& [from, to] : graph.edges) other.edges.emplace_back(number[from], number[to]);
  std::ranges::reverse(other.edges);
  return other;
}

// The graph of n vertices whose labels and whose edges are the bits of two numbers.
LabelledGraph numbered(std::size_t n, unsigned labels, unsigned edges) {
  LabelledGraph graph;
  unsigned bit = 0;
  for (std::size_t to = 0; to < n; ++to) {
    graph.labels.push_back(1 + (labels >> to & 1U));
    for (std::size_t from = 0; from < to; ++from) {
      if ((edges >> bit++ & 1U) != 0) graph.edges.emplace_back(from, to);
    }
  }
  return graph;
}

TEST(GraphFeatures, AreThoseOfAllRenumberingsOfAllGraphsOfFourVertices) {
  for (std::size_t n = 1; n <= 4; ++n) {
    for (unsigned labels = 0; labels < 1U << n; ++labels) {
      for (unsigned edges = 0; edges < 1U << (n * (n - 1) / 2); ++edges) {
        const LabelledGraph graph = numbered(n, labels, edges);
        const GraphFeatures features = graph_features(graph);
        std::vector<std::size_t> number(n);
        std::iota(number.begin(), number.end(), std::size_t{0});
        do {
          ASSERT_EQ(graph_features(renumbered(graph, number)), features);
        } while (std::ranges::next_permutation(number).found);
      }
    }
  }
}

TEST(GraphFeatures, AreThoseOfRenumberedLargeGraphs) {
  Rng rng(7);
  for (int i = 0; i < 50; ++i) {
    LabelledGraph graph;
    for (std::size_t to = 0; to < 40; ++to) {
      graph.labels.push_back(rng.below(5));
      for (std::size_t from = 0; from < to; ++from) {
        if (rng.chance(0.1)) graph.edges.emplace_back(from, to);
      }
    }
    std::vector<std::size_t> number(40);
    std::iota(number.begin(), number.end(), std::size_t{0});
    rng.shuffle(std::span(number));
    ASSERT_EQ(graph_features(renumbered(graph, number)), graph_features(graph)) << i;
  }
}

Space shipped(const std::string& name) {
  return read_study_config(DETOL_SOURCE_DIR "/configs/" + name + ".yaml").value().space;
}

TEST(GraphFeatures, ArePartOfThePointsOfASpaceOfArchitectures) {
  const Space space = shipped("nasbench201");
  const Features features(space);
  Rng rng(5);
  const Genome genome = space.sample(rng);
  ASSERT_TRUE(features.has_graph());
  EXPECT_EQ(*features.of(genome).graph, graph_features(*space.graph(genome)));
}

class GraphKernelOn : public testing::TestWithParam<std::string> {};

TEST_P(GraphKernelOn, IsPositiveDefiniteOverRandomCandidates) {
  const Space space = shipped(GetParam());
  Rng rng(8);
  std::vector<GraphFeatures> features;
  for (int i = 0; i < 100; ++i) features.push_back(graph_features(*space.graph(space.sample(rng))));
  for (int depth = 0; depth < GraphFeatures::kLevels; ++depth) {
    Cholesky factor;
    std::vector<double> row;
    for (const GraphFeatures& one : features) {
      row.clear();
      for (std::size_t i = 0; i < factor.size(); ++i)
        row.push_back(graph_kernel(one, features[i], depth));
      ASSERT_NEAR(graph_kernel(one, one, depth), 1, 1e-14);
      ASSERT_TRUE(factor.append(row, 1 + 1e-9));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, GraphKernelOn,
                         testing::Values("cgp_resset", "cnn", "cnn_large", "conv1d", "darts_cells",
                                         "graph", "hybrid", "metaqnn", "mlp_table", "nasbench201"),
                         [](const auto& tested) { return tested.param; });

// Expects that candidates with equal networks have equal features, and that there are such twins.
void expect_features_of_networks(const StudyConfig& study, const Task& task, int samples) {
  Rng rng(9);
  const EncodingRow& row = *find_row(encodings(), study.encoding);
  std::map<std::uint64_t, GraphFeatures> by_network;
  int twins = 0;
  for (int i = 0; i < samples; ++i) {
    const Genome genome = study.space.sample(rng);
    const auto json = nlohmann::json::parse(study.architecture_json(genome));
    const auto network = row.decode(json, task);
    if (!network) continue;
    const GraphFeatures features = graph_features(*study.space.graph(genome));
    const auto [known, is_new] = by_network.try_emplace(canonical_hash(*network), features);
    twins += is_new ? 0 : 1;
    ASSERT_EQ(known->second, features) << json;
    ASSERT_NEAR(graph_kernel(known->second, features, GraphFeatures::kLevels - 1), 1, 1e-14);
  }
  EXPECT_GT(twins, samples / 50);
}

TEST(GraphFeatures, AreThoseOfTheNetworkOfACellWithOperationsOnEdges) {
  const std::string macro = "{stages: 1, cells_per_stage: 1, channels: 4}";
  expect_features_of_networks(load(cell_file(kNb201Cell, macro)), {{3, 8, 8}, 10}, 1500);
}

// Without `none` no cell ignores one of its inputs.
TEST(GraphFeatures, AreThoseOfTheNetworkOfACellWithOperationsOnNodes) {
  const std::string cell = "{nodes: 2, edges: op_on_node, operations: [skip_connect, sep_conv_3x3]";
  const std::string macro = "{stages: 2, cells_per_stage: 1, channels: 4}";
  for (const std::string cells : {", cells: [normal]}", ", cells: [normal, reduction]}"})
    expect_features_of_networks(load(cell_file(cell + cells, macro)), {{3, 8, 8}, 10}, 1500);
}

TEST(GraphFeatures, AreThoseOfTheNetworkOfAGrid) {
  const std::string grid =
      "  cgp: {rows: 2, columns: 3, channels: [4], kernels: [3], min_active: 1}\n";
  expect_features_of_networks(load(file_of("cgp", grid)), {{3, 64, 64}, 10}, 2000);
}

TEST(GraphFeatures, AreThoseOfTheNetworkOfAGraph) {
  for (const std::string join : {"add", "concat", "per_node", "nasbench101"}) {
    const std::string graph =
        "  graph: {nodes: 4, operations: [conv_1x1, max_pool_3x3], join: " + join + "}\n";
    expect_features_of_networks(load(file_of("graph", graph)), {{3, 8, 8}, 10}, 250);
  }
}

TEST(GraphFeatures, AreThoseOfTheNetworkOfAChain) {
  const std::string stage =
      "    - {channels: {type: categorical, choices: [8, 16]}, depth: {type: int, low: 1, high: "
      "2}, "
      "block: {op: {type: categorical, choices: [conv, max_pool, identity]}, kernel: 3}}\n";
  expect_features_of_networks(load(file_of("chain", "  stages:\n" + stage + stage)),
                              {{3, 8, 8}, 10}, 300);
}

}  // namespace
}  // namespace detol

// Tests of encoding `graph`: the networks that its choices build, the rules between the choices,
// and that searchers never break the rules.

#include "encodings/graph/graph.h"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "encodings/common/encoding.h"
#include "encodings/graph/graph_rules.h"
#include "encodings/network/canonical.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

using nlohmann::json;

const Task kTask{{1, 8, 8}, 10};

StudyConfig load_graph(const std::string& graph, const std::string& macro = "channels: 4") {
  return load(
      fmt::format("version: 1\nstudy: s\ndata: {{format: idx, path: /data}}\n"
                  "architecture: {{type: graph, graph: {{{}}}, macro: {{{}}}}}\n"
                  "training: {{epochs: 2}}\n"
                  "objectives: [{{metric: val_loss, direction: minimize}}]\n",
                  graph, macro));
}

// Returns the section of a graph with these words of the inner vertices ("op", or "op/join") and
// this adjacency matrix.
json section_of(const std::vector<std::string>& words, const std::vector<std::string>& matrix,
                const std::string& join = "add") {
  json vertices = json::array({json::object()});
  for (std::size_t to = 1; to < matrix.size(); ++to) {
    json vertex = json::object();
    if (to + 1 < matrix.size()) {
      vertex["op"] = words[to - 1].substr(0, words[to - 1].find('/'));
      if (words[to - 1].find('/') != std::string::npos)
        vertex["join"] = words[to - 1].substr(words[to - 1].find('/') + 1);
    }
    for (std::size_t from = 0; from < to; ++from) vertex["from"].push_back(matrix[from][to] == '1');
    vertices.push_back(vertex);
  }
  return {{"type", "graph"},
          {"graph", {{"nodes", matrix.size()}, {"join", join}, {"node", vertices}}},
          {"macro", {{"channels", 4}}}};
}

using Layers = std::multiset<std::string>;  // "0.0.node1.conv:4": name and channels

// Counts the layers of the cells without their order, which may be any topological one.
Layers layers_of(const json& section) {
  const auto network = decode_graph(section, kTask);
  EXPECT_TRUE(network) << network.error().message;
  Layers layers;
  if (!network) return layers;
  for (const Node& node : network->nodes()) {
    if (node.name.starts_with("stages."))
      layers.insert(fmt::format("{}:{}", node.name.substr(7), node.shape.channels));
  }
  return layers;
}

Layers words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

TEST(Graph, ImpliesAnOperationForEveryInnerNodeAndABoolForEveryEdge) {
  EXPECT_EQ(choices_of(load_graph("nodes: 3, operations: [conv_3x3]")),
            "architecture.graph.node[1].op architecture.graph.node[1].from[0] "
            "architecture.graph.node[2].from[0] architecture.graph.node[2].from[1]");
  EXPECT_EQ(choices_of(load_graph("nodes: 3, operations: [conv_3x3], join: per_node")),
            "architecture.graph.node[1].op architecture.graph.node[1].from[0] "
            "architecture.graph.node[2].join "
            "architecture.graph.node[2].from[0] architecture.graph.node[2].from[1]");
}

TEST(Graph, RefusesMoreEdgesThanThereAreWays) {
  const auto study = load_study_config(
      "version: 1\nstudy: s\ndata: {format: idx, path: /data}\n"
      "architecture: {type: graph, graph: {nodes: 3, edges: 4, operations: [conv_3x3]}}\n"
      "training: {epochs: 2}\nobjectives: [{metric: val_loss, direction: minimize}]\n",
      "s.yaml", {});
  ASSERT_FALSE(study);
  EXPECT_EQ(study.error().message,
            "s.yaml:4:15: architecture.graph.edges: 3 nodes have room for 3 edges, not 4");
}

TEST(Graph, AddsWhatItsEdgesBring) {
  EXPECT_EQ(
      layers_of(section_of({"conv_3x3", "max_pool_3x3"}, {"0111", "0001", "0001", "0000"})),
      words_of(
          "0.0.node1.conv:4 0.0.node1.bn:4 0.0.node1.relu:4 0.0.node2.pool:4 0.0.node3.add:4"));
}

TEST(Graph, LeavesOutWhatIsOnNoPath) {
  EXPECT_EQ(layers_of(section_of({"conv_3x3", "conv_1x1"}, {"0100", "0001", "0001", "0000"})),
            words_of("0.0.node1.conv:4 0.0.node1.bn:4 0.0.node1.relu:4"));
  EXPECT_EQ(layers_of(section_of({"conv_3x3", "conv_1x1"}, {"0101", "0010", "0000", "0000"})),
            words_of(""));
}

TEST(Graph, ConcatenatesAndKeepsTheChannelsOfAStage) {
  EXPECT_EQ(layers_of(section_of({"skip_connect", "max_pool_3x3"}, {"0111", "0011", "0001", "0000"},
                                 "concat")),
            words_of("0.0.node2.concat:8 0.0.node2.squeeze.conv:4 0.0.node2.squeeze.bn:4 "
                     "0.0.node2.squeeze.relu:4 0.0.node2.pool:4 0.0.node3.concat:12"));
}

TEST(Graph, JoinsAsEachNodeSays) {
  EXPECT_EQ(
      layers_of(section_of({"skip_connect", "conv_1x1/concat"}, {"0110", "0011", "0001", "0000"},
                           "per_node")),
      words_of(
          "0.0.node2.concat:8 0.0.node2.conv:4 0.0.node2.bn:4 0.0.node2.relu:4 0.0.node3.add:4"));
}

// Three vertices lead to the output of 4 channels: 2 each. The input is projected at each use.
TEST(Graph, JoinsAsNasbench101) {
  EXPECT_EQ(
      layers_of(section_of({"conv_1x1", "max_pool_3x3", "conv_3x3"},
                           {"01101", "00111", "00001", "00001", "00000"}, "nasbench101")),
      words_of(
          "0.0.node1.input.conv:2 0.0.node1.input.bn:2 0.0.node1.input.relu:2 "
          "0.0.node1.conv:2 0.0.node1.bn:2 0.0.node1.relu:2 "
          "0.0.node2.input.conv:2 0.0.node2.input.bn:2 0.0.node2.input.relu:2 "
          "0.0.node2.add:2 0.0.node2.pool:2 "
          "0.0.node3.conv:2 0.0.node3.bn:2 0.0.node3.relu:2 0.0.node4.parts.concat:6 "
          "0.0.node4.input.conv:6 0.0.node4.input.bn:6 0.0.node4.input.relu:6 0.0.node4.add:6"));
}

TEST(Graph, RepairsSizesThatDiffer) {
  EXPECT_EQ(
      layers_of(section_of({"conv_3x3_stride2", "skip_connect"}, {"0111", "0001", "0001", "0000"})),
      words_of("0.0.node1.conv:4 0.0.node1.bn:4 0.0.node1.relu:4 0.0.node3.in0.pool0:4 "
               "0.0.node3.in2.pool0:4 0.0.node3.add:4"));
}

TEST(Graph, StagesDoubleTheChannelsOfHalvedImages) {
  json section = section_of({"conv_3x3"}, {"010", "001", "000"});
  section["macro"] = {{"channels", 4}, {"stages", 2}, {"cells_per_stage", 2}};
  EXPECT_EQ(layers_of(section),
            words_of("0.0.node1.conv:4 0.0.node1.bn:4 0.0.node1.relu:4 "
                     "0.1.node1.conv:4 0.1.node1.bn:4 0.1.node1.relu:4 1.pool:4 "
                     "1.0.input.conv:8 1.0.input.bn:8 1.0.input.relu:8 "
                     "1.0.node1.conv:8 1.0.node1.bn:8 1.0.node1.relu:8 "
                     "1.1.node1.conv:8 1.1.node1.bn:8 1.1.node1.relu:8"));
}

TEST(Graph, KeysOfIsomorphicGraphsAreEqual) {
  const std::string key = graph_key(section_of({"conv_3x3", "max_pool_3x3", "conv_1x1"},
                                               {"01110", "00001", "00001", "00000", "00000"}));
  EXPECT_EQ(key, "input,conv_3x3,max_pool_3x3,output|0110,0001,0001,0000");
  EXPECT_EQ(graph_key(section_of({"max_pool_3x3", "conv_1x1", "conv_3x3"},
                                 {"01010", "00001", "00000", "00001", "00000"})),
            key);
}

GraphRules rules_of(std::size_t vertices, std::size_t max_edges) {
  GraphLayout layout;
  layout.vertices.resize(vertices);
  layout.max_edges = max_edges;
  for (std::size_t v = 1, next = 0; v < vertices; next += v++) layout.vertices[v].first_edge = next;
  return GraphRules(layout);
}

std::vector<double> codes_of(std::uint32_t bits, std::size_t count) {
  std::vector<double> codes(count);
  for (std::size_t i = 0; i < count; ++i) codes[i] = (bits >> i) & 1U;
  return codes;
}

// The edges in use, found by walking all paths; bit i is the i-th edge.
std::uint32_t used_by_paths(std::uint32_t bits, std::size_t vertices) {
  std::uint32_t used = 0;
  const std::function<bool(std::size_t)> leads_out = [&](std::size_t from) {
    if (from + 1 == vertices) return true;
    bool any = false;
    for (std::size_t to = from + 1; to < vertices; ++to) {
      const std::size_t edge = to * (to - 1) / 2 + from;
      if (((bits >> edge) & 1U) == 0 || !leads_out(to)) continue;
      used |= 1U << edge;
      any = true;
    }
    return any;
  };
  leads_out(0);
  return used;
}

TEST(GraphRules, RequireAPathAndAtMostMaxEdgesInUse) {
  for (std::uint32_t bits = 0; bits < 1U << 10; ++bits) {
    const std::uint32_t used = used_by_paths(bits, 5);
    for (std::size_t most = 1; most <= 10; ++most) {
      const bool is_right = used != 0 && std::popcount(used) <= static_cast<int>(most);
      EXPECT_EQ(rules_of(5, most).violation(codes_of(bits, 10)).empty(), is_right) << bits;
    }
  }
  EXPECT_EQ(rules_of(3, 2).violation(codes_of(0b111, 3)),
            "architecture.graph: 3 edges in use, at most 2");
  EXPECT_EQ(rules_of(3, 2).violation(codes_of(0b001, 3)),
            "architecture.graph: no path leads from input to output");
}

TEST(GraphRules, RepairEveryAssignmentOfFiveNodesAndLeaveRightOnesAlone) {
  Rng rng(1);
  for (std::size_t most = 1; most <= 10; ++most) {
    const GraphRules rules = rules_of(5, most);
    for (std::uint32_t bits = 0; bits < 1U << 10; ++bits) {
      const std::vector<double> before = codes_of(bits, 10);
      std::vector<double> after = before;
      rules.repair(after, rng);
      ASSERT_EQ(rules.violation(after), "") << bits;
      if (rules.violation(before).empty()) {
        ASSERT_EQ(before, after);
      }
      if (used_by_paths(bits, 5) == 0 || most < 4) continue;
      for (std::size_t i = 0; i < 10; ++i)
        ASSERT_LE(after[i], before[i]) << "the repair must only remove edges";
    }
  }
}

TEST(GraphRules, RepairTheLargestGraph) {
  constexpr std::size_t kVertices = 32, kEdges = 32 * 31 / 2;
  Rng rng(2);
  for (std::size_t most : {1, 5, 31, 40, 400}) {
    const GraphRules rules = rules_of(kVertices, most);
    for (double density : {0.0, 0.05, 0.5, 1.0}) {
      std::vector<double> codes(kEdges);
      for (double& code : codes) code = rng.chance(density) ? 1 : 0;
      rules.repair(codes, rng);
      EXPECT_EQ(rules.violation(codes), "");
    }
  }
}

// The edges in use are the same for all combinations of values of the unexpressed choices.
TEST(GraphRules, UnexpressedEdgesMayTakeAnyValues) {
  const GraphRules rules = rules_of(5, 10);
  for (std::uint32_t bits = 0; bits < 1U << 10; ++bits) {
    const std::uint32_t used = used_by_paths(bits, 5);
    if (used == 0) continue;
    const std::vector<bool> expressed = rules.expressed(codes_of(bits, 10));
    std::uint32_t free = 0;
    for (std::size_t i = 0; i < 10; ++i) free |= expressed[i] ? 0 : 1U << i;
    for (std::uint32_t other = free;; other = (other - 1) & free) {
      ASSERT_EQ(used_by_paths((bits & ~free) | other, 5), used) << bits;
      if (other == 0) break;
    }
    for (std::size_t i = 0; i < 10; ++i) {
      ASSERT_TRUE(expressed[i] || used_by_paths(bits ^ (1U << i), 5) == used) << bits;
    }
  }
}

const std::vector<std::string> kSpaces = {
    "nodes: 7, edges: 9, operations: [conv_3x3, conv_1x1, max_pool_3x3], join: nasbench101",
    "nodes: 6, operations: [conv_3x3, max_pool_3x3_stride2, skip_connect], join: per_node",
    "nodes: 9, edges: 11, operations: [sep_conv_3x3, dil_conv_3x3, conv_3x3_stride2], join: add",
    "nodes: 8, edges: 5, operations: [avg_pool_3x3, sep_conv_3x3_stride2], join: concat",
    "nodes: 2, operations: [conv_3x3]",
};

void expect_right(const StudyConfig& study, const Genome& genome) {
  const auto again = study.space.genome(genome.assignments());
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(*again, genome);
  const auto candidate = study.candidate(genome, kTask);
  ASSERT_TRUE(candidate) << candidate.error().reason;
  const auto network = decode_graph(json::parse(study.architecture_json(genome)), kTask);
  ASSERT_TRUE(network) << network.error().message;
  ASSERT_EQ(canonical_hash(*network), candidate->arch_hash);
}

class GraphSpaces : public testing::TestWithParam<std::size_t> {
 protected:
  const StudyConfig study_ =
      load_graph(kSpaces[GetParam()], "channels: 4, stages: 2, cells_per_stage: 2");
};

TEST_P(GraphSpaces, SamplesMutantsAndCrossingsAreNetworks) {
  Rng rng(3);
  Genome parent = study_.space.sample(rng);
  for (int i = 0; i < 250; ++i) {
    SCOPED_TRACE(i);
    const Genome sample = study_.space.sample(rng);
    const Genome child = study_.space.crossover(parent, sample, rng);
    const Genome mutant = study_.space.mutate(child, rng);
    for (const Genome& genome : {sample, child, mutant}) expect_right(study_, genome);
    parent = mutant;
  }
}

// Concatenations keep the order of their inputs, so that only sums have equal hashes for equal
// keys.
TEST_P(GraphSpaces, GenomesOfOneIdentityAreOneNetworkAndHaveOneKey) {
  Rng rng(4);
  std::map<std::uint64_t, std::uint64_t> hash_of_identity;
  std::map<std::uint64_t, std::string> key_of_identity;
  std::map<std::string, std::uint64_t> hash_of_key;
  const bool only_adds = kSpaces[GetParam()].find("join: add") != std::string::npos;
  for (int i = 0; i < 300; ++i) {
    const Genome genome = study_.space.sample(rng);
    const std::uint64_t hash = study_.candidate(genome, kTask)->arch_hash;
    EXPECT_EQ(hash_of_identity.try_emplace(study_.space.identity(genome), hash).first->second,
              hash);
    const std::string key = graph_key(json::parse(study_.architecture_json(genome)));
    EXPECT_EQ(key_of_identity.try_emplace(study_.space.identity(genome), key).first->second, key);
    if (!only_adds) continue;
    EXPECT_EQ(hash_of_key.try_emplace(key, hash).first->second, hash) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GraphSpaces, testing::Range(std::size_t{0}, kSpaces.size()));

}  // namespace
}  // namespace detol

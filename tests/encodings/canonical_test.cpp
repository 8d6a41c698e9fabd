// Tests that the canonical hash is equal exactly for isomorphic networks. All graphs of a kind are
// built, and with them every order in which the nodes of a graph can be added.
// DETOL_CANONICAL=thorough tries 2.5 million more graphs, which takes minutes.

#include "encodings/network/canonical.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

// The inputs of a node, or of the output.
struct Join {
  std::vector<int> inputs;  // -1: the network's input; else an earlier node
  bool is_concat = false;   // concatenated in this order; else added, in no order
};

// A small graph of the tests: labelled nodes between an input and an output.
struct Graph {
  std::vector<int> labels;  // of the nodes
  std::vector<Join> joins;  // of the nodes, then of the output
};

// Returns the layer of a label: all of them make four channels of any number.
Layer layer_of(int label) {
  constexpr std::array kLayers = {
      Layer{.kind = LayerKind::kDense, .channels = 4},
      Layer{.kind = LayerKind::kDense, .channels = 4, .bias = true},
      Layer{.kind = LayerKind::kConv, .channels = 4},
  };
  return kLayers[static_cast<std::size_t>(label)];
}

// Returns the network of a graph, with its nodes added in the topological `order`. `shuffle` gives
// nodes random names, and the terms of sums a random order.
Network network_of(const Graph& graph, const std::vector<int>& order, Rng* shuffle = nullptr) {
  NetworkBuilder builder({4, 1, 1});
  std::map<int, NodeId> placed = {{-1, builder.input()}};
  const auto name = [&] {
    return shuffle == nullptr ? "" : "x" + std::to_string(shuffle->below(1ULL << 62));
  };
  const auto joined = [&](const Join& join) {
    std::vector<NodeId> inputs;
    for (int input : join.inputs) inputs.push_back(placed.at(input));
    if (inputs.size() == 1) return inputs.front();
    if (join.is_concat) return builder.add({.kind = LayerKind::kConcat}, inputs, name());
    if (shuffle != nullptr) shuffle->shuffle(std::span(inputs));
    return builder.add({.kind = LayerKind::kAdd}, inputs, name());
  };
  for (int node : order) {
    const auto at = static_cast<std::size_t>(node);
    placed[node] = builder.add(layer_of(graph.labels[at]), {joined(graph.joins[at])}, name());
  }
  const NodeId end = builder.add({.kind = LayerKind::kGlobalAvgPool}, {joined(graph.joins.back())});
  return builder.build(end).value();
}

std::vector<int> in_order(const Graph& graph) {
  std::vector<int> order(graph.labels.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::uint64_t hash_of(const Graph& graph) {
  return canonical_hash(network_of(graph, in_order(graph)));
}

// Every order in which the nodes can be added.
std::vector<std::vector<int>> topological_orders(const Graph& graph) {
  std::vector<std::vector<int>> orders;
  std::vector<int> order = in_order(graph);
  do {
    unsigned seen = 1;  // bit 0: the input; bit n + 1: node n
    const bool is_forward = std::ranges::all_of(order, [&](int node) {
      const auto& inputs = graph.joins[static_cast<std::size_t>(node)].inputs;
      const bool ready = std::ranges::all_of(inputs, [&](int i) { return (seen >> (i + 1)) & 1U; });
      seen |= 2U << node;
      return ready;
    });
    if (is_forward) orders.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return orders;
}

// Returns a complete description of the graph with its nodes numbered in this order.
std::string description(const Graph& graph, const std::vector<int>& order) {
  std::array<char, 16> renamed{};
  renamed[0] = '0';
  std::string text;
  const auto describe = [&](const Join& join) {
    const std::size_t start = text.size();
    for (int input : join.inputs) text += renamed[static_cast<std::size_t>(input + 1)];
    if (!join.is_concat) std::sort(text.begin() + static_cast<std::ptrdiff_t>(start), text.end());
    text += join.is_concat && join.inputs.size() > 1 ? '&' : '+';
  };
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto at = static_cast<std::size_t>(order[place]);
    describe(graph.joins[at]);
    text += static_cast<char>('a' + graph.labels[at]);
    renamed[at + 1] = static_cast<char>('1' + place);
  }
  describe(graph.joins.back());
  return text;
}

// Classes is the oracle: two graphs are isomorphic if one is a reordering of the other.
class Classes {
 public:
  std::size_t class_of(const Graph& graph) {
    const auto known = class_of_.find(description(graph, in_order(graph)));
    if (known != class_of_.end()) return known->second;
    for (const auto& order : topological_orders(graph))
      class_of_.emplace(description(graph, order), count_);
    return count_++;
  }

 private:
  std::unordered_map<std::string, std::size_t> class_of_;
  std::size_t count_ = 0;
};

enum class Joins { kAdd, kAddOrConcat };

// Returns every possible join of a node (or of the output) that follows `before` nodes.
std::vector<Join> joins_of(int before, Joins kinds) {
  std::vector<Join> joins;
  for (int set = 1; set < 2 << before; ++set) {
    Join join;
    for (int input = -1; input < before; ++input) {
      if (((set >> (input + 1)) & 1) == 1) join.inputs.push_back(input);
    }
    joins.push_back(join);
    if (kinds == Joins::kAdd || join.inputs.size() == 1) continue;
    join.is_concat = true;
    do {
      joins.push_back(join);
    } while (std::ranges::next_permutation(join.inputs).found);
  }
  return joins;
}

// The nodes that nothing uses, or the input if there are no nodes.
std::vector<int> loose_ends(const Graph& graph) {
  const std::vector<int> nodes = in_order(graph);
  std::set<int> loose(nodes.begin(), nodes.end());
  for (const Join& join : graph.joins) {
    for (int input : join.inputs) loose.erase(input);
  }
  return {loose.begin(), loose.end()};
}

// Kind: all graphs of `nodes` nodes with `labels` labels and these joins.
struct Kind {
  int nodes = 0, labels = 1;
  Joins joins = Joins::kAdd;
  bool output_is_free = true;  // it joins any nodes; else it adds all unused ones
};

// Visits every graph of the kind in which every node leads to the output.
template <typename Visit>
void for_each_graph(const Kind& kind, const Visit& visit, Graph graph = {}) {
  const int placed = static_cast<int>(graph.labels.size());
  if (placed == kind.nodes && !kind.output_is_free) {
    graph.joins.push_back({loose_ends(graph)});
    return visit(graph);
  }
  for (Join& join : joins_of(placed, kind.joins)) {
    graph.joins.push_back(std::move(join));
    if (placed == kind.nodes) {
      if (loose_ends(graph).empty()) visit(graph);
    } else {
      for (int label = 0; label < kind.labels; ++label) {
        graph.labels.push_back(label);
        for_each_graph(kind, visit, graph);
        graph.labels.pop_back();
      }
    }
    graph.joins.pop_back();
  }
}

void expect_hash_is_isomorphism(const Kind& kind) {
  Classes classes;
  std::unordered_map<std::size_t, std::uint64_t> hash_of_class;
  std::unordered_map<std::uint64_t, std::size_t> class_of_hash;
  Rng shuffle(1);
  std::size_t graphs = 0;
  for_each_graph(kind, [&](const Graph& graph) {
    const std::size_t own = classes.class_of(graph);
    const std::uint64_t hash = canonical_hash(network_of(graph, in_order(graph), &shuffle));
    const std::string text = description(graph, in_order(graph));
    ASSERT_EQ(hash_of_class.try_emplace(own, hash).first->second, hash) << text;
    ASSERT_EQ(class_of_hash.try_emplace(hash, own).first->second, own) << text;
    ++graphs;
  });
  std::printf("%zu graphs, %zu different networks\n", graphs, class_of_hash.size());
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfUpToThreeNodesAndThreeLabels) {
  for (int nodes = 0; nodes <= 3; ++nodes)
    expect_hash_is_isomorphism({.nodes = nodes, .labels = 3});
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfUpToThreeNodesWithSumsAndConcatenations) {
  for (int nodes = 0; nodes <= 3; ++nodes)
    expect_hash_is_isomorphism({.nodes = nodes, .joins = Joins::kAddOrConcat});
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfFourNodes) {
  expect_hash_is_isomorphism({.nodes = 4});
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfFourNodesAndTwoLabelsThatEndInASum) {
  expect_hash_is_isomorphism({.nodes = 4, .labels = 2, .output_is_free = false});
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfFiveNodesThatEndInASum) {
  expect_hash_is_isomorphism({.nodes = 5, .output_is_free = false});
}

TEST(CanonicalHash, IsIsomorphismOnMillionsOfGraphsIfAskedFor) {
  const char* word = std::getenv("DETOL_CANONICAL");
  if (word == nullptr || std::string_view(word) != "thorough")
    GTEST_SKIP() << "DETOL_CANONICAL is not thorough";
  expect_hash_is_isomorphism({.nodes = 5});
  expect_hash_is_isomorphism({.nodes = 5, .labels = 2, .output_is_free = false});
  expect_hash_is_isomorphism({.nodes = 4, .labels = 2});
  expect_hash_is_isomorphism({.nodes = 3, .labels = 3, .joins = Joins::kAddOrConcat});
  expect_hash_is_isomorphism({.nodes = 4, .joins = Joins::kAddOrConcat});
}

Graph closed(Graph graph) {
  graph.joins.push_back({loose_ends(graph)});
  return graph;
}

// Makes a graph of `size` nodes; half of the joins of several inputs are concatenations.
Graph random_graph(int size, int labels, Rng& rng) {
  Graph graph;
  for (int node = 0; node < size; ++node) {
    graph.labels.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(labels))));
    std::set<int> inputs;
    for (std::uint64_t i = 1 + rng.below(3); i > 0; --i)
      inputs.insert(static_cast<int>(rng.below(static_cast<std::uint64_t>(node) + 1)) - 1);
    graph.joins.push_back({{inputs.begin(), inputs.end()}, rng.chance(0.5)});
    rng.shuffle(std::span(graph.joins.back().inputs));
  }
  return closed(std::move(graph));
}

std::vector<int> random_order(const Graph& graph, Rng& rng) {
  std::vector<int> order, open = in_order(graph);
  std::set<int> seen = {-1};
  while (!open.empty()) {
    const std::size_t at = rng.below(open.size());
    const auto& inputs = graph.joins[static_cast<std::size_t>(open[at])].inputs;
    if (!std::ranges::all_of(inputs, [&](int i) { return seen.contains(i); })) continue;
    seen.insert(open[at]);
    order.push_back(open[at]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return order;
}

TEST(CanonicalHash, SurvivesRandomRelabellingsOfLargerGraphs) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_graph(static_cast<int>(6 + rng.below(35)), 2, rng);
    const std::uint64_t hash = hash_of(graph);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(canonical_hash(network_of(graph, random_order(graph, rng), &rng)), hash);
  }
}

TEST(CanonicalHash, SeesOneChangedLayerInLargerGraphs) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Graph graph = random_graph(static_cast<int>(6 + rng.below(35)), 2, rng);
    const std::uint64_t hash = hash_of(graph);
    graph.labels[rng.below(graph.labels.size())] = 2;
    EXPECT_NE(hash_of(graph), hash);
  }
}

// Compares two rings of six with one of twelve: refinement alone gives all nodes one colour.
TEST(CanonicalHash, TellsRegularGraphsApart) {
  const auto crown = [](const std::vector<std::vector<int>>& pairs) {
    Graph graph{{0, 0, 0, 0, 0, 0}, std::vector<Join>(6, Join{{-1}})};
    for (const auto& pair : pairs) {
      graph.labels.push_back(1);
      graph.joins.push_back({pair});
    }
    return closed(std::move(graph));
  };
  const Graph one = crown({{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}});
  const Graph two = crown({{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}});
  EXPECT_NE(hash_of(one), hash_of(two));
  Rng rng(5);
  EXPECT_EQ(hash_of(one), canonical_hash(network_of(one, random_order(one, rng), &rng)));
  EXPECT_EQ(hash_of(two), canonical_hash(network_of(two, random_order(two, rng), &rng)));
}

// n equal branches have n! symmetries; the search must not enumerate them.
TEST(CanonicalHash, ManyEqualBranchesAreCheap) {
  for (int length : {1, 3}) {
    Graph graph;
    for (int node = 0; node < 99; ++node) {
      graph.labels.push_back(0);
      graph.joins.push_back({{node % length == 0 ? -1 : node - 1}});
    }
    graph = closed(std::move(graph));
    Rng rng(1);
    EXPECT_EQ(hash_of(graph), canonical_hash(network_of(graph, random_order(graph, rng), &rng)));
  }
}

// Returns the hash of a network of this layer and a pool.
std::uint64_t hash_with(const Layer& layer, Shape input = {4, 8, 8}) {
  NetworkBuilder builder(input);
  const NodeId x = builder.add(layer, {builder.input()});
  return canonical_hash(
      builder.build(builder.add({.kind = LayerKind::kGlobalAvgPool}, {x})).value());
}

TEST(CanonicalHash, SeesEveryFieldOfALayerAndTheInputShape) {
  const Layer conv{.kind = LayerKind::kConv, .channels = 4, .kernel = 3};
  std::vector<std::uint64_t> hashes = {hash_with(conv)};
  const auto changed = [&](auto change) {
    Layer layer = conv;
    change(layer);
    hashes.push_back(hash_with(layer));
  };
  changed([](Layer& l) { l.channels = 8; });
  changed([](Layer& l) { l.kernel = 5; });
  changed([](Layer& l) { l.kernel_height = 1; });
  changed([](Layer& l) { l.stride = 2; });
  changed([](Layer& l) { l.groups = 2; });
  changed([](Layer& l) { l.dilation = 2; });
  changed([](Layer& l) { l.bias = true; });
  hashes.push_back(hash_with(conv, {4, 9, 8}));
  hashes.push_back(hash_with(conv, {8, 8, 8}));
  hashes.push_back(hash_with({.kind = LayerKind::kLayerNorm}));
  hashes.push_back(hash_with({.kind = LayerKind::kActivation}));
  hashes.push_back(hash_with({.kind = LayerKind::kActivation, .activation = Activation::kSilu}));
  hashes.push_back(hash_with({.kind = LayerKind::kDropout, .rate = 0.1}));
  hashes.push_back(hash_with({.kind = LayerKind::kDropout, .rate = 0.2}));
  EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), hashes.size());
}

TEST(CanonicalHash, IgnoresNamesAndWhatIsDropped) {
  const auto build = [](const std::string& name, bool dead_end) {
    NetworkBuilder builder({4, 8, 8});
    const NodeId x = builder.add({.kind = LayerKind::kBatchNorm}, {builder.input()}, name);
    if (dead_end) builder.add({.kind = LayerKind::kDropout, .rate = 0.5}, {x});
    return canonical_hash(builder.build(builder.add({.kind = LayerKind::kFlatten}, {x})).value());
  };
  EXPECT_EQ(build("a", false), build("b", false));
  EXPECT_EQ(build("a", false), build("a", true));
}

// The weights after a concatenation depend on the order of its channels: with two inputs exchanged,
// it is another network.
TEST(CanonicalHash, OrdersTheInputsOfScaleAndConcatButNotOfAdd) {
  const auto join = [](LayerKind kind, bool swapped) {
    NetworkBuilder builder({4, 1, 1});
    const NodeId a = builder.add({.kind = LayerKind::kBatchNorm}, {builder.input()});
    const NodeId b = builder.add({.kind = LayerKind::kActivation}, {builder.input()});
    const NodeId end = builder.add({.kind = kind}, swapped ? std::vector{b, a} : std::vector{a, b});
    return canonical_hash(builder.build(end).value());
  };
  EXPECT_EQ(join(LayerKind::kAdd, false), join(LayerKind::kAdd, true));
  EXPECT_NE(join(LayerKind::kScale, false), join(LayerKind::kScale, true));
  EXPECT_NE(join(LayerKind::kConcat, false), join(LayerKind::kConcat, true));
}

TEST(CanonicalHash, CountsHowOftenAnInputIsAdded) {
  const auto add = [](std::size_t times) {
    NetworkBuilder builder({4, 1, 1});
    const std::vector<NodeId> inputs(times, builder.input());
    return canonical_hash(builder.build(builder.add({.kind = LayerKind::kAdd}, inputs)).value());
  };
  EXPECT_NE(add(2), add(3));
}

}  // namespace
}  // namespace detol

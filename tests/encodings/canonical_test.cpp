// The canonical hash: equal exactly for isomorphic networks.

#include "encodings/canonical.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

// A small graph of the tests: between an input and an output stand labelled nodes, all of
// one shape. A node with several inputs adds them up.
struct Graph {
  std::vector<int> labels;               // 0 relu, 1 silu, 2 sigmoid
  std::vector<std::vector<int>> inputs;  // -1: the network's input; else an earlier node
};

Layer layer_of(int label) {
  constexpr std::array kActivations = {Activation::kRelu, Activation::kSilu, Activation::kSigmoid};
  return {.kind = LayerKind::kActivation,
          .activation = kActivations[static_cast<std::size_t>(label)]};
}

// The network of a graph, its nodes added in `order` (a topological one) under `names`.
// Nodes that nobody uses are joined at the end, so that none is dropped.
Network network_of(const Graph& graph, const std::vector<int>& order, Rng* shuffle = nullptr) {
  NetworkBuilder builder({4, 1, 1});
  std::map<int, NodeId> placed = {{-1, builder.input()}};
  std::set<int> loose(order.begin(), order.end());
  const auto sum = [&](std::vector<NodeId> terms) {
    if (shuffle != nullptr) shuffle->shuffle(std::span(terms));
    return terms.size() == 1 ? terms[0] : builder.add({.kind = LayerKind::kAdd}, terms);
  };
  for (int node : order) {
    const auto at = static_cast<std::size_t>(node);
    std::vector<NodeId> terms;
    for (int input : graph.inputs[at]) {
      terms.push_back(placed.at(input));
      loose.erase(input);
    }
    placed[node] = builder.add(layer_of(graph.labels[at]), {sum(terms)});
  }
  std::vector<NodeId> ends;
  for (int node : loose) ends.push_back(placed.at(node));
  return builder.build(builder.add({.kind = LayerKind::kGlobalAvgPool}, {sum(ends)})).value();
}

std::vector<int> in_order(const Graph& graph) {
  std::vector<int> order(graph.labels.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::uint64_t hash_of(const Graph& graph) {
  return canonical_hash(network_of(graph, in_order(graph)));
}

// Every order in which the nodes can be added: all relabellings that keep edges forward.
std::vector<std::vector<int>> topological_orders(const Graph& graph) {
  std::vector<std::vector<int>> orders;
  std::vector<int> order = in_order(graph);
  do {
    std::set<int> seen = {-1};
    const bool forward = std::ranges::all_of(order, [&](int node) {
      const auto& inputs = graph.inputs[static_cast<std::size_t>(node)];
      const bool ready = std::ranges::all_of(inputs, [&](int i) { return seen.contains(i); });
      seen.insert(node);
      return ready;
    });
    if (forward) orders.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return orders;
}

// The oracle: the lexicographically smallest description over all orders.
std::string description(const Graph& graph, const std::vector<int>& order) {
  std::map<int, int> renamed = {{-1, -1}};
  std::string text;
  for (int node : order) {
    const auto at = static_cast<std::size_t>(node);
    std::set<int> inputs;
    for (int input : graph.inputs[at]) inputs.insert(renamed.at(input));
    renamed[node] = static_cast<int>(renamed.size()) - 1;
    text += static_cast<char>('a' + graph.labels[at]);
    for (int input : inputs) text += static_cast<char>('0' + 1 + input);
    text += ';';
  }
  return text;
}

// Every graph with `size` nodes over `labels` labels; each node has at least one input.
template <typename Visit>
void for_each_graph(int size, int labels, const Visit& visit) {
  std::vector<int> radix;
  for (int node = 0; node < size; ++node) {
    radix.push_back(labels);
    radix.push_back((1 << (node + 1)) - 1);
  }
  std::vector<int> digits(radix.size(), 0);
  for (;;) {
    Graph graph;
    for (int node = 0; node < size; ++node) {
      const auto at = static_cast<std::size_t>(node);
      graph.labels.push_back(digits[2 * at]);
      graph.inputs.emplace_back();
      for (int input = -1; input < node; ++input) {
        if (((digits[2 * at + 1] + 1) >> (input + 1)) % 2 == 1)
          graph.inputs.back().push_back(input);
      }
    }
    visit(graph);
    std::size_t place = 0;
    while (place < digits.size() && ++digits[place] == radix[place]) digits[place++] = 0;
    if (place == digits.size()) return;
  }
}

void expect_hash_is_isomorphism(int size, int labels) {
  std::map<std::string, std::uint64_t> hash_of_class;
  std::map<std::uint64_t, std::string> class_of_hash;
  for_each_graph(size, labels, [&](const Graph& graph) {
    const auto orders = topological_orders(graph);
    std::string smallest;
    for (const auto& order : orders) {
      const std::string text = description(graph, order);
      if (smallest.empty() || text < smallest) smallest = text;
    }
    const std::uint64_t hash = hash_of(graph);
    ASSERT_EQ(hash_of_class.try_emplace(smallest, hash).first->second, hash) << smallest;
    ASSERT_EQ(class_of_hash.try_emplace(hash, smallest).first->second, smallest);
  });
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfUpToThreeNodesAndThreeLabels) {
  for (int size = 1; size <= 3; ++size) expect_hash_is_isomorphism(size, 3);
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfFourNodesAndTwoLabels) {
  expect_hash_is_isomorphism(4, 2);
}

TEST(CanonicalHash, IsIsomorphismOnAllGraphsOfFiveNodes) {
  expect_hash_is_isomorphism(5, 1);
}

TEST(CanonicalHash, DoesNotSeeTheOrderOfNodesOnAllGraphsOfUpToFourNodes) {
  for (int size = 1; size <= 4; ++size) {
    for_each_graph(size, 2, [&](const Graph& graph) {
      const std::uint64_t hash = hash_of(graph);
      for (const auto& order : topological_orders(graph))
        ASSERT_EQ(canonical_hash(network_of(graph, order)), hash);
    });
  }
}

Graph random_graph(int size, int labels, Rng& rng) {
  Graph graph;
  for (int node = 0; node < size; ++node) {
    graph.labels.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(labels))));
    std::set<int> inputs;
    for (std::uint64_t i = 1 + rng.below(3); i > 0; --i)
      inputs.insert(static_cast<int>(rng.below(static_cast<std::uint64_t>(node) + 1)) - 1);
    graph.inputs.emplace_back(inputs.begin(), inputs.end());
  }
  return graph;
}

std::vector<int> random_order(const Graph& graph, Rng& rng) {
  std::vector<int> order, open = in_order(graph);
  std::set<int> seen = {-1};
  while (!open.empty()) {
    const std::size_t at = rng.below(open.size());
    const auto& inputs = graph.inputs[static_cast<std::size_t>(open[at])];
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

// Two rings of six against one of twelve: refinement alone gives all their nodes one colour.
TEST(CanonicalHash, TellsRegularGraphsApart) {
  const auto crown = [](const std::vector<std::vector<int>>& pairs) {
    Graph graph;
    for (int i = 0; i < 6; ++i) {
      graph.labels.push_back(0);
      graph.inputs.push_back({-1});
    }
    for (const auto& pair : pairs) {
      graph.labels.push_back(1);
      graph.inputs.push_back(pair);
    }
    return graph;
  };
  const Graph one = crown({{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}});
  const Graph two = crown({{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}});
  EXPECT_NE(hash_of(one), hash_of(two));
  Rng rng(5);
  EXPECT_EQ(hash_of(one), canonical_hash(network_of(one, random_order(one, rng), &rng)));
  EXPECT_EQ(hash_of(two), canonical_hash(network_of(two, random_order(two, rng), &rng)));
}

// 40 equal branches have 40! symmetries; the search must not walk them.
TEST(CanonicalHash, ManyEqualBranchesAreCheap) {
  Graph graph;
  for (int i = 0; i < 40; ++i) {
    graph.labels.push_back(0);
    graph.inputs.push_back({-1});
  }
  Rng rng(1);
  EXPECT_EQ(hash_of(graph), canonical_hash(network_of(graph, random_order(graph, rng), &rng)));
}

// One convolution between input and pool.
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
  changed([](Layer& l) { l.stride = 2; });
  changed([](Layer& l) { l.groups = 2; });
  changed([](Layer& l) { l.dilation = 2; });
  changed([](Layer& l) { l.bias = true; });
  hashes.push_back(hash_with(conv, {4, 9, 8}));
  hashes.push_back(hash_with(conv, {8, 8, 8}));
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

TEST(CanonicalHash, OrdersTheInputsOfScaleButNotOfAdd) {
  const auto join = [](LayerKind kind, bool swapped) {
    NetworkBuilder builder({4, 1, 1});
    const NodeId a = builder.add({.kind = LayerKind::kBatchNorm}, {builder.input()});
    const NodeId b = builder.add({.kind = LayerKind::kActivation}, {builder.input()});
    const NodeId end = builder.add({.kind = kind}, swapped ? std::vector{b, a} : std::vector{a, b});
    return canonical_hash(builder.build(end).value());
  };
  EXPECT_EQ(join(LayerKind::kAdd, false), join(LayerKind::kAdd, true));
  EXPECT_NE(join(LayerKind::kScale, false), join(LayerKind::kScale, true));
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

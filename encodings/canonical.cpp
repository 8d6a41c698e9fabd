// Every node gets a colour that says what it is: its layer, everything it is computed from and
// everything computed from it. Colour refinement (Weisfeiler & Leman, 1968), but along the
// topological order, so that one sweep forward and one back carry news through the whole
// network. Where nodes still share a colour, one is individualised and the refinement goes on
// (McKay & Piperno, 2014, arXiv 1301.1493); the smallest certificate of all ways is the
// network's. Two members that lead to equal leaves are images of each other under a symmetry,
// so that k equal branches cost k leaves, not k!.
//
// The price of a network without such symmetry is two or three sweeps over its edges.

#include "encodings/canonical.h"

#include <algorithm>
#include <bit>
#include <map>

#include "core/hash.h"

namespace detol {
namespace {

using Colors = std::vector<std::uint64_t>;

struct Edge {
  NodeId to = 0;
  std::uint64_t slot = 0;  // which input it is; 0 where inputs are unordered
};

std::uint64_t hash_of(std::uint64_t seed, std::initializer_list<std::int64_t> values) {
  for (std::int64_t value : values) seed = hash_combine(seed, static_cast<std::uint64_t>(value));
  return seed;
}

std::uint64_t layer_color(const Node& node) {
  const Layer& l = node.layer;
  return hash_of(
      0, {static_cast<std::int64_t>(l.kind), l.channels, l.kernel, height_of(l), l.stride, l.groups,
          l.dilation, l.bias ? 1 : 0, static_cast<std::int64_t>(l.activation),
          std::bit_cast<std::int64_t>(l.rate + 0.0), node.shape.channels, node.shape.height,
          node.shape.width});
}

bool is_unordered(const Node& node) {
  return node.layer.kind == LayerKind::kAdd;
}

class Canonizer {
 public:
  explicit Canonizer(std::span<const Node> nodes) : nodes_(nodes), outputs_(nodes.size()) {
    for (NodeId id = 0; id < nodes.size(); ++id) {
      const auto& inputs = nodes[id].inputs;
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        outputs_[inputs[slot]].push_back({id, is_unordered(nodes[id]) ? 0 : slot});
      }
    }
  }

  std::uint64_t hash() const {
    Colors colors;
    for (const Node& node : nodes_) colors.push_back(layer_color(node));
    return search(refined(std::move(colors))).smallest;
  }

 private:
  // Certificates of leaves: colourings in which every node is alone.
  struct Found {
    std::uint64_t smallest = 0;  // of all leaves
    std::uint64_t first = 0;     // of the leaf that first choices lead to
  };

  std::uint64_t with_inputs(NodeId id, std::uint64_t seed, const Colors& colors) const {
    Colors inputs;
    for (NodeId input : nodes_[id].inputs) inputs.push_back(colors[input]);
    if (is_unordered(nodes_[id])) std::ranges::sort(inputs);
    for (std::uint64_t color : inputs) seed = hash_combine(seed, color);
    return seed;
  }

  Colors swept(Colors colors) const {
    for (NodeId id = 0; id < nodes_.size(); ++id) colors[id] = with_inputs(id, colors[id], colors);
    for (NodeId id = nodes_.size(); id-- > 0;) {
      Colors uses;
      for (const Edge& edge : outputs_[id])
        uses.push_back(hash_combine(edge.slot, colors[edge.to]));
      std::ranges::sort(uses);
      for (std::uint64_t use : uses) colors[id] = hash_combine(colors[id], use);
    }
    return colors;
  }

  static std::size_t count_classes(Colors colors) {
    std::ranges::sort(colors);
    return static_cast<std::size_t>(std::unique(colors.begin(), colors.end()) - colors.begin());
  }

  // Sweeps until no class splits any more.
  Colors refined(Colors colors) const {
    for (std::size_t classes = count_classes(colors);;) {
      colors = swept(std::move(colors));
      const std::size_t now = count_classes(colors);
      if (now == classes || now == colors.size()) return colors;
      classes = now;
    }
  }

  // The smallest colour that several nodes share, and those nodes; none in a leaf.
  static std::vector<NodeId> shared_class(const Colors& colors) {
    std::map<std::uint64_t, std::vector<NodeId>> classes;
    for (NodeId id = 0; id < colors.size(); ++id) classes[colors[id]].push_back(id);
    for (auto& [color, members] : classes) {
      if (members.size() > 1) return std::move(members);
    }
    return {};
  }

  Colors individualised(Colors colors, NodeId id) const {
    colors[id] = hash_combine(colors[id], 1);
    return refined(std::move(colors));
  }

  // REQUIRES: every colour occurs once. Nodes in the order of their colours, each with its
  // inputs: the whole network, whatever its nodes were called.
  std::uint64_t certificate(const Colors& colors) const {
    std::map<std::uint64_t, NodeId> ordered;
    for (NodeId id = 0; id < colors.size(); ++id) ordered.emplace(colors[id], id);
    std::uint64_t hash = 0;
    for (const auto& [color, id] : ordered) {
      hash = with_inputs(id, hash_combine(hash, color), colors);
    }
    return hash;
  }

  std::uint64_t first_leaf(Colors colors) const {
    for (;;) {
      const std::vector<NodeId> members = shared_class(colors);
      if (members.empty()) return certificate(colors);
      colors = individualised(std::move(colors), members.front());
    }
  }

  Found search(const Colors& colors) const {
    const std::vector<NodeId> members = shared_class(colors);
    if (members.empty()) return {certificate(colors), certificate(colors)};
    Found found = search(individualised(colors, members.front()));
    for (std::size_t i = 1; i < members.size(); ++i) {
      const Colors other = individualised(colors, members[i]);
      if (first_leaf(other) == found.first) continue;  // the first member's image
      found.smallest = std::min(found.smallest, search(other).smallest);
    }
    return found;
  }

  std::span<const Node> nodes_;
  std::vector<std::vector<Edge>> outputs_;
};

}  // namespace

std::uint64_t canonical_hash(const Network& network) {
  return Canonizer(network.nodes()).hash();
}

}  // namespace detol

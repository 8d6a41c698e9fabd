// Every node gets a colour, a hash of its layer, everything it is computed from and everything
// computed from it. This is colour refinement (Weisfeiler & Leman, 1968), but along the topological
// order, so that one sweep forward and one back carry a change through the whole network. Where
// nodes still share a colour, one is individualised and the refinement continues (McKay & Piperno,
// 2014, arXiv 1301.1493); the smallest certificate of all orders is the network's. Nodes of a
// colour that are images of each other under a symmetry lead to the same leaves, so that one of
// them is enough. To find a symmetry, one node is individualised, then another, and the nodes whose
// colours then differ are exchanged; if that is no symmetry, the leaves reached by always taking
// the first node are compared. A symmetry holds for every earlier choice, too: k equal branches
// cost 2k refinements, not k!.
//
// The price of a network without such symmetry is two or three sweeps over its edges.

#include "encodings/network/canonical.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "core/hash.h"

namespace detol::inline encoding {
namespace {

using Colors = std::vector<std::uint64_t>;

struct Edge {
  NodeId to = 0;
  std::uint64_t slot = 0;  // number of the input; 0 where inputs are unordered
};

std::uint64_t hash_of(std::uint64_t seed, std::initializer_list<std::int64_t> values) {
  for (std::int64_t value : values) seed = hash_combine(seed, static_cast<std::uint64_t>(value));
  return seed;
}

std::uint64_t layer_color(const Node& node) {
  const Layer& l = node.layer;
  const std::uint64_t levels =
      l.kind == LayerKind::kQuantize
          ? hash_of(1, {std::bit_cast<std::int32_t>(l.scale), l.zero_point})
          : 0;
  return hash_of(levels,
                 {static_cast<std::int64_t>(l.kind), l.channels, l.kernel, height_of(l), l.stride,
                  l.groups, l.dilation, l.bias ? 1 : 0, static_cast<std::int64_t>(l.activation),
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

  std::uint64_t hash() {
    Colors colors;
    for (const Node& node : nodes_) colors.push_back(layer_color(node));
    return search(refined(std::move(colors))).smallest;
  }

 private:
  using Permutation = std::vector<NodeId>;  // the image of every node

  // Found summarises the leaves, the colourings in which every node has a colour of its own.
  struct Found {
    std::uint64_t smallest = 0;  // certificate
    Colors first;                // the leaf reached by always individualising the first node
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

  // Returns the nodes of the smallest colour that several nodes share; none in a leaf.
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

  // Hashes the nodes in the order of their colours, each with its inputs: the whole network,
  // independent of the numbers of its nodes. REQUIRES: every colour occurs once.
  std::uint64_t certificate(const Colors& colors) const {
    std::map<std::uint64_t, NodeId> ordered;
    for (NodeId id = 0; id < colors.size(); ++id) ordered.emplace(colors[id], id);
    std::uint64_t hash = 0;
    for (const auto& [color, id] : ordered) {
      hash = with_inputs(id, hash_combine(hash, color), colors);
    }
    return hash;
  }

  Colors first_leaf(Colors colors) const {
    for (;;) {
      const std::vector<NodeId> members = shared_class(colors);
      if (members.empty()) return colors;
      colors = individualised(std::move(colors), members.front());
    }
  }

  // Returns the nodes that have a colour of their own.
  static std::map<std::uint64_t, NodeId> alone(const Colors& colors) {
    std::map<std::uint64_t, NodeId> found;
    std::set<std::uint64_t> shared;
    for (NodeId id = 0; id < colors.size(); ++id) {
      if (!found.emplace(colors[id], id).second) shared.insert(colors[id]);
    }
    for (std::uint64_t color : shared) found.erase(color);
    return found;
  }

  // Maps every node with a colour of its own in `one` to the node that has this colour in `other`.
  // Displaced nodes take the places left; all others stay.
  static Permutation exchange(const Colors& one, const Colors& other) {
    Permutation image(one.size()), origin(one.size());
    std::iota(image.begin(), image.end(), NodeId{0});
    std::iota(origin.begin(), origin.end(), NodeId{0});
    const auto alone_in_other = alone(other);
    std::vector<bool> moves(one.size(), false);
    for (const auto& [color, id] : alone(one)) {
      const auto place = alone_in_other.find(color);
      if (place == alone_in_other.end()) continue;
      image[id] = place->second;
      origin[place->second] = id;
      moves[id] = true;
    }
    for (NodeId id = 0; id < image.size(); ++id) {
      if (moves[id]) continue;
      NodeId free = id;
      while (moves[origin[free]] && origin[free] != free) free = origin[free];
      image[id] = free;
    }
    return image;
  }

  // Returns true if the permutation leaves the network and its colours the same.
  bool is_symmetry(const Permutation& image, const Colors& colors) const {
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      if (colors[image[id]] != colors[id]) return false;
      std::vector<NodeId> moved;
      for (NodeId input : nodes_[id].inputs) moved.push_back(image[input]);
      std::vector<NodeId> inputs = nodes_[image[id]].inputs;
      if (is_unordered(nodes_[id])) {
        std::ranges::sort(moved);
        std::ranges::sort(inputs);
      }
      if (moved != inputs) return false;
    }
    return true;
  }

  // Sets of nodes that symmetries take to each other.
  class Orbits {
   public:
    explicit Orbits(std::size_t nodes) : leader_(nodes) {
      std::iota(leader_.begin(), leader_.end(), NodeId{0});
    }
    NodeId leader(NodeId id) {
      while (leader_[id] != id) id = leader_[id] = leader_[leader_[id]];
      return id;
    }
    void unite(const Permutation& image) {
      for (NodeId id = 0; id < image.size(); ++id) leader_[leader(id)] = leader(image[id]);
    }

   private:
    std::vector<NodeId> leader_;
  };

  Found search(const Colors& colors) {
    const std::vector<NodeId> members = shared_class(colors);
    if (members.empty()) return {certificate(colors), colors};
    std::size_t known = symmetries_.size();  // later ones keep the individualised nodes in place
    Orbits orbits(nodes_.size());
    const Colors first = individualised(colors, members.front());
    Found found = search(first);
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (; known < symmetries_.size(); ++known) orbits.unite(symmetries_[known]);
      const auto is_image = [&](NodeId one) {
        return orbits.leader(one) == orbits.leader(members[i]);
      };
      if (std::any_of(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i), is_image))
        continue;
      const Colors other = individualised(colors, members[i]);
      if (!add_symmetry(exchange(first, other), colors) &&
          !add_symmetry(exchange(found.first, first_leaf(other)), colors))
        found.smallest = std::min(found.smallest, search(other).smallest);
    }
    return found;
  }

  bool add_symmetry(Permutation image, const Colors& colors) {
    if (!is_symmetry(image, colors)) return false;
    symmetries_.push_back(std::move(image));
    return true;
  }

  std::span<const Node> nodes_;
  std::vector<std::vector<Edge>> outputs_;
  std::vector<Permutation> symmetries_;  // found so far
};

}  // namespace

std::uint64_t canonical_hash(const Network& network) {
  return Canonizer(network.nodes()).hash();
}

}  // namespace detol::inline encoding

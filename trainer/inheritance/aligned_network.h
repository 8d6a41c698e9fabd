#pragma once

// AlignedNetwork: a network with what the rules of inheritance ask of it. It outlives no network
// that it was made of. Immutable; thread-safe.

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline trainer {

inline bool is_product(LayerKind kind) {
  return row_of(kind).role == LayerRole::kProduct;
}
inline bool has_parameters(LayerKind kind) {
  return row_of(kind).parameters != nullptr;
}
inline bool is_relu(const Layer& layer) {
  return layer.kind == LayerKind::kActivation && layer.activation == Activation::kRelu;
}

class AlignedNetwork {
 public:
  explicit AlignedNetwork(const Network& network);

  const Node& node(NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  std::int64_t channels(NodeId id) const { return nodes_[id].shape.channels; }
  const Shape& input_shape(NodeId id) const { return nodes_[nodes_[id].inputs.front()].shape; }
  const std::vector<NodeId>& consumers(NodeId id) const { return consumers_[id]; }
  bool is_rectified(NodeId id) const { return rectified_[id]; }  // its output is never negative
  bool is_depthwise(NodeId id) const;                            // REQUIRES: kConv or kDense

  // Returns the first node that always has the same output at inference.
  NodeId canonical(NodeId id) const { return canonical_[id]; }
  NodeId input(NodeId id) const { return canonical_[nodes_[id].inputs.front()]; }
  std::vector<NodeId> inputs_of(NodeId id) const;  // canonical; of kAdd in ascending order

  std::optional<NodeId> called(std::string_view name) const;

  // Returns the canonical node that computes a layer without parameters of canonical inputs.
  std::optional<NodeId> find(const Layer& layer, std::vector<NodeId> inputs) const;

  // Marks a node and all that it depends on.
  void mark_ancestors(NodeId id, std::vector<bool>& marks) const;

 private:
  bool is_rectified_by_inputs(NodeId id) const;
  NodeId canonical_of(NodeId id) const;

  std::span<const Node> nodes_;
  std::vector<std::vector<NodeId>> consumers_;
  std::vector<std::vector<NodeId>> readers_;  // of each canonical node, through what equals it
  std::unordered_map<std::string_view, NodeId> by_name_;
  std::vector<bool> rectified_;
  std::vector<NodeId> canonical_;
};

}  // namespace detol::inline trainer

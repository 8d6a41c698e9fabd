#pragma once

// Network: a directed acyclic graph of layers from one input to one output (the logits),
// with every shape inferred. Immutable once built; safe to share between threads.
//
//   NetworkBuilder b({3, 32, 32});
//   const NodeId x = b.add({.kind = LayerKind::kConv, .channels = 16, .kernel = 3}, {b.input()});
//   Network network = b.build(b.add({.kind = LayerKind::kGlobalAvgPool}, {x})).value();

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "encodings/network/layer.h"

namespace detol::inline encoding {

using NodeId = std::size_t;

struct Node {
  Layer layer;
  std::vector<NodeId> inputs;  // earlier nodes, in the layer's order
  Shape shape;                 // of its output, per image
  std::string name;            // unique in the network; not part of its identity
};

// NetworkParameter: one tensor of the network's state, as checkpoints, exports and backends use it.
struct NetworkParameter {
  NodeId node = 0;
  std::string name;  // "<node name>.<weight|bias|gamma|...>"
  ParameterSpec spec;
};

class Network {
 public:
  // Returns every node on a path from input to output, in a topological order: the input is
  // node 0, the output the last.
  std::span<const Node> nodes() const { return nodes_; }
  const Node& output() const { return nodes_.back(); }
  const Shape& input_shape() const { return nodes_.front().shape; }

  std::vector<Shape> input_shapes(NodeId node) const;

  // Returns all tensors, node by node: the order of checkpoints and exports.
  std::vector<NetworkParameter> parameters() const;

 private:
  friend class NetworkBuilder;
  std::vector<Node> nodes_;
};

// NetworkBuilder collects nodes. build() reports the first mistake of all calls, so that a caller
// can chain adds without checking each.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(Shape input);

  NodeId input() const { return 0; }

  // Adds a layer and returns its node. An empty name becomes "<kind><number>".
  NodeId add(Layer layer, std::vector<NodeId> inputs, std::string name = {});

  const Shape& shape(NodeId node) const { return nodes_[node].shape; }

  // Drops nodes that do not lead to the output and orders the rest. Errors (kInput): the first
  // mistake of add(); a node that does not depend on the input.
  Result<Network> build(NodeId output) const;

 private:
  std::vector<Node> nodes_;
  Result<void> status_;
};

}  // namespace detol::inline encoding

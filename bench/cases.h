#pragma once

// The layers that benches measure: every one that a space file can propose, with the least
// operations and memory accesses that it needs.

#include <cstdint>
#include <string_view>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline bench {

struct LayerCase {
  std::string_view name;  // kind, kernel and stride: "depthwise5x5/2"
  Shape input;
  Layer layer;
  int inputs = 1;
};

std::vector<LayerCase> layer_cases();

// CaseNetwork: a network with the layer between others that need its gradients, and its node.
struct CaseNetwork {
  Network network;
  NodeId node = 0;
};
CaseNetwork network_of(const LayerCase& one);

// Needs: operations (2 per multiply-add), and numbers that must be read or written once.
struct Needs {
  double operations = 0, numbers = 0;
};

// LayerNeeds: the needs of a layer for a batch. Forward: input, output and weights. Backward: twice
// the operations; the output's and input's gradient, and the input and twice the weights where
// there are weights.
struct LayerNeeds {
  Needs forward, backward;
};
LayerNeeds needs_of(const Network& network, NodeId id, std::int64_t batch);

}  // namespace detol::inline bench

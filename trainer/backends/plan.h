#pragma once

// Plan: a network as the list of units that a fast backend runs, in order. A unit is one layer,
// or one with what can be done while its output is still in a register:
//
//   batch norm [+ the other input of an add] [+ ReLU]
//
// which is the tail of every residual block, so that its tensors are read and written once; and
//
//   [ReLU +] max pooling
//
// since the largest of what ReLU leaves is what it leaves of the largest.

#include <optional>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline trainer {

struct Unit {
  NodeId node = 0;               // the layer: batch norm, pooling
  NodeId output = 0;             // the last node fused into it, whose value it makes
  std::optional<NodeId> addend;  // a batch norm's: added before ReLU
  bool relu = false;             // a batch norm's, behind it; a max pooling's, before it
};

// Every node but the input, each in exactly one unit; a unit comes after its inputs' units.
std::vector<Unit> plan_units(const Network& network);

}  // namespace detol::inline trainer

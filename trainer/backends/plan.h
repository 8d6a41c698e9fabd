#pragma once

// Plan: a network as the list of units that a fast backend runs, in order. A unit is one layer, or
// one layer fused with what can be computed while its output is still in a register:
//
//   batch norm [+ the other input of an add] [+ ReLU]
//
// which is the tail of every residual block, so that its tensors are read and written once; and
//
//   [ReLU +] max pooling
//
// since the maximum of ReLU's outputs is ReLU of the maximum. An activation whose value another
// unit already has is not computed again: a second one of the same input, as where every operation
// of a cell begins with its own, or a ReLU of a ReLU.

#include <optional>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline trainer {

struct Unit {
  NodeId node = 0;                     // the main layer, such as batch norm or pooling
  NodeId output = 0;                   // the last node fused into it, whose value it computes
  std::optional<NodeId> addend = {};   // of a batch norm: added before ReLU
  bool relu = false;                   // after a batch norm, or before a max pooling
  std::optional<NodeId> same_as = {};  // of an activation: an earlier node that has its value
};

// Returns units of all nodes but the input, each in exactly one; a unit comes after its inputs'
// units.
std::vector<Unit> plan_units(const Network& network);

}  // namespace detol::inline trainer

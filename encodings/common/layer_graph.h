#pragma once

// layer_graph: a network as a labelled graph, by which kernels compare networks of different
// encodings. Pure; thread-safe.
//
// The graph is the union of three drawings of one network, so that networks that share a rough
// outline are alike to some degree, and those that share more are more alike:
//
//   kinds     the kind of every layer that computes or joins; normalisations, activations and
//             dropouts are left out, and what reads them reads their input
//   windows   the same layers, with kernel and stride
//   layers    every layer, with all its settings, but widths by their power of two and no rates
//
// The width of the input and of the last dense layer is the data's, so no drawing shows it.

#include <span>

#include "encodings/network/network.h"
#include "encodings/space/labelled_graph.h"

namespace detol::inline encoding {

// REQUIRES: every node's inputs come before it.
LabelledGraph layer_graph(std::span<const Node> nodes);

}  // namespace detol::inline encoding

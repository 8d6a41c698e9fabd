#pragma once

// Activation functions as ONNX nodes, written and read by one table. Private to this folder.

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "encodings/network/activation.h"
#include "export/onnx_nodes.h"

namespace detol::inline exporting {

// Adds the nodes of an activation function of an edge; the last has the name, and the others names
// that begin with it.
void add_activation(OnnxNodes& nodes, Activation function, const std::string& name,
                    const std::string& input);

struct OnnxActivation {
  Activation function;
  int nodes;
};

// Returns the function whose nodes, just as add_activation() adds them, begin at node `first`.
std::optional<OnnxActivation> activation_at(const onnx::GraphProto& graph, int first);

// Returns whether an operator stands in graphs for the sake of an activation function alone.
bool is_of_activation(const std::string& op);

}  // namespace detol::inline exporting

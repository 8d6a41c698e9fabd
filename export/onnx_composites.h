#pragma once

// Layers that are one ONNX node or several, written and read by one table: activation functions and
// norms of channels. Private to this folder.

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "encodings/network/layer.h"
#include "export/onnx_nodes.h"

namespace detol::inline exporting {

// Adds the nodes of a layer that reads an edge and the constants `weights`, of which norms have
// gamma and perhaps beta; the last node has the name, and the others names that begin with it. A
// norm's edge has its channels last.
void add_composite(OnnxNodes& nodes, const Layer& layer, const std::string& name,
                   const std::string& input, const OnnxNodes::Names& weights);

struct OnnxComposite {
  Layer layer;
  int nodes = 0;
  OnnxNodes::Names weights = {};
};

// Returns the layer whose nodes, just as add_composite() adds them, begin at node `first`.
std::optional<OnnxComposite> composite_at(const onnx::GraphProto& graph, int first);

// Returns whether such a layer has an operator of that name.
bool is_of_composite(const std::string& op);

}  // namespace detol::inline exporting

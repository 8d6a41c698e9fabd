#pragma once

// An attention layer as ONNX nodes: 13 has no operator for it. Private to this folder.

#include <string>

#include "encodings/network/layer.h"
#include "export/onnx_constants.h"
#include "export/onnx_nodes.h"

namespace detol::inline exporting {

// Adds the nodes of an attention that reads an edge of images of shape `in`; the last one has the
// name, and the others names that begin with it.
void add_attention(OnnxNodes& nodes, const Layer& layer, const std::string& name,
                   const std::string& input, const Shape& in);

// OnnxAttention: a layer as add_attention() writes it, and how many nodes it takes.
struct OnnxAttention {
  Layer layer;
  std::string name;
  int nodes = 0;
};

// Reads the attention whose nodes begin at node `first`, over images of shape `in`. Errors
// (kInput): they are not as add_attention() writes them.
Result<OnnxAttention> read_attention(const onnx::GraphProto& graph, int first,
                                     const OnnxConstants& constants, const Shape& in);

}  // namespace detol::inline exporting

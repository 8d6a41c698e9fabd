#pragma once

// Reads the graph of an untrusted ONNX file as a network. Private to this folder.

#include <onnx/onnx_pb.h>

#include "export/export.h"

namespace detol::inline exporting {

// Fills network and weights; all else was read from the metadata. `shape`: of the network's input.
// Errors (kInput) as read_onnx.
Result<void> read_onnx_graph(const onnx::GraphProto& graph, const Shape& shape, Model& model);

}  // namespace detol::inline exporting

#pragma once

// Integers in ONNX: the levels of a kQuantize, and weights of eight bits with biases of 32, each
// with a scale per output channel, as the runtimes' integer kernels expect them. Private to this
// folder.

#include <onnx/onnx_pb.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "export/onnx_constants.h"
#include "export/onnx_nodes.h"
#include "trainer/backends/weights.h"

namespace detol::inline exporting {

// Adds a QuantizeLinear of the edge and a DequantizeLinear with the node's name.
void add_levels(OnnxNodes& nodes, const Node& node, const std::string& edge);

// Adds the weight, and the bias if there is one, of a layer that reads the levels of `quantizer`,
// each with its DequantizeLinear; returns the names of these. REQUIRES: as trainer/quantization
// rounds them.
std::vector<std::string> add_integer_weights(OnnxNodes& nodes, std::span<const Tensor> tensors,
                                             const Layer& quantizer);

// Reads the levels of a QuantizeLinear or DequantizeLinear of a tensor. Errors (kInput).
Result<Layer> read_levels(const OnnxConstants& constants, const onnx::NodeProto& node);

// OnnxIntegerWeights: the weights and biases of a graph that are integers.
class OnnxIntegerWeights {
 public:
  // Reads one: the DequantizeLinear of a constant, which it takes. Errors (kInput).
  Result<void> read(OnnxConstants& constants, const onnx::NodeProto& node);

  // Returns the one that is this output of a node and that no layer has; null if there is none.
  const Tensor* find(const std::string& output) const;

  // Gives it to a layer, as its parameter of that name. Errors (kInput): that has one already.
  // REQUIRES: find(output).
  Result<void> give(const std::string& output, const std::string& parameter);

  // Returns the one that a layer has; null if there is none.
  const Tensor* of(const std::string& parameter) const;

 private:
  std::map<std::string, Tensor> by_output_, by_parameter_;
};

}  // namespace detol::inline exporting

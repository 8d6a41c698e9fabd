#pragma once

// Computes an ONNX graph by the definitions of its operators (Operators.md of ONNX), slowly, so
// that what a graph computes is tested where there is no ONNX Runtime. It knows the operators that
// the exporter writes, in the forms in which it writes them, and shares no code with it.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace detol::testing {

struct OnnxValue {
  std::vector<std::int64_t> shape;
  int type = onnx::TensorProto::FLOAT;
  std::vector<double> numbers = {};  // of floats each is one
  std::vector<std::string> texts = {};
};

using OnnxValues = std::map<std::string, OnnxValue>;

// Returns all edges of the graph by their names, given its inputs. Throws std::exception for a
// graph that does not follow the definitions.
OnnxValues evaluate(const onnx::GraphProto& graph, OnnxValues inputs);

}  // namespace detol::testing

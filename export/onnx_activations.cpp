// Operator sets 13 and 17 have no SiLU and no GELU, and 13 no hard swish: each is x times a gate.

#include "export/onnx_activations.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "encodings/network/activation_functions.h"
#include "export/onnx_interface.h"

namespace detol::inline exporting {
namespace {

// An operator of one or two inputs: `x` is the function's input, a name with a dot another node's,
// and empty `number`, a constant, or nothing.
struct Operator {
  const char* op;
  const char* left = "x";
  const char* right = nullptr;
  double number = 0;      // read where `right` is ""
  const char* name = "";  // behind the function's name
  float alpha = 0, beta = 0;
};

struct FunctionRow {
  Activation function;
  std::vector<Operator> operators;
};

const std::vector<FunctionRow>& functions() {
  static const std::vector<FunctionRow> kFunctions = {
      {Activation::kRelu, {{.op = "Relu"}}},
      {Activation::kSigmoid, {{.op = "Sigmoid"}}},
      {Activation::kTanh, {{.op = "Tanh"}}},
      {Activation::kLeakyRelu, {{.op = "LeakyRelu", .alpha = static_cast<float>(kLeakySlope)}}},
      {Activation::kSilu,
       {{.op = "Sigmoid", .name = ".sigmoid"}, {.op = "Mul", .right = ".sigmoid"}}},
      {Activation::kHardSwish,
       {{.op = "HardSigmoid", .name = ".gate", .alpha = 1.0F / 6, .beta = 0.5F},
        {.op = "Mul", .right = ".gate"}}},
      {Activation::kGelu,
       {{.op = "Mul", .right = "", .number = 0.70710678118654752440, .name = ".scaled"},
        {.op = "Erf", .left = ".scaled", .name = ".erf"},
        {.op = "Mul", .left = ".erf", .right = "", .number = 0.5, .name = ".half"},
        {.op = "Add", .left = ".half", .right = "", .number = 0.5, .name = ".gate"},
        {.op = "Mul", .right = ".gate"}}},
      {Activation::kGeluTanh,
       {{.op = "Mul", .right = "x", .name = ".square"},
        {.op = "Mul", .left = ".square", .right = "", .number = kGeluCube, .name = ".cube"},
        {.op = "Add", .left = ".cube", .right = "", .number = kGeluScale, .name = ".slope"},
        {.op = "Mul", .right = ".slope", .name = ".scaled"},
        {.op = "Sigmoid", .left = ".scaled", .name = ".gate"},
        {.op = "Mul", .right = ".gate"}}},
  };
  return kFunctions;
}

std::string edge_of(const char* operand, const std::string& name, const std::string& input) {
  return std::string_view(operand) == "x" ? input : name + operand;
}

}  // namespace

void add_activation(OnnxNodes& nodes, Activation function, const std::string& name,
                    const std::string& input) {
  const auto row = std::ranges::find(functions(), function, &FunctionRow::function);
  for (const Operator& one : row->operators) {
    const std::string own = name + one.name;
    OnnxNodes::Names inputs = {edge_of(one.left, name, input)};
    if (one.right != nullptr && *one.right != '\0')
      inputs.push_back(edge_of(one.right, name, input));
    else if (one.right != nullptr)
      inputs.push_back(nodes.floats(own + ".number", {}, {static_cast<float>(one.number)}));
    onnx::NodeProto& added = nodes.add(one.op, own, inputs);
    if (one.alpha != 0) OnnxNodes::set_float(added, "alpha", one.alpha);
    if (one.beta != 0) OnnxNodes::set_float(added, "beta", one.beta);
  }
}

std::optional<OnnxActivation> activation_at(const onnx::GraphProto& graph, int first) {
  std::optional<OnnxActivation> found;
  for (const FunctionRow& row : functions()) {
    const auto count = static_cast<int>(row.operators.size());
    const bool may_be = first + count <= graph.node_size() && graph.node(first).input_size() > 0 &&
                        graph.node(first).op_type() == row.operators.front().op &&
                        (!found || found->nodes < count);
    if (!may_be) continue;
    const onnx::NodeProto& last = graph.node(first + count - 1);
    if (last.output_size() != 1) continue;
    onnx::GraphProto expected;
    OnnxNodes nodes(expected);
    add_activation(nodes, row.function, last.name(), graph.node(first).input(0));
    // The last node of a graph is called as its output is.
    expected.mutable_node(count - 1)->set_output(0, last.output(0));
    if (has_nodes(graph, first, expected)) found = {row.function, count};
  }
  return found;
}

bool is_of_activation(const std::string& op) {
  return op != "Mul" && op != "Add" &&
         std::ranges::any_of(functions(), [&](const FunctionRow& row) {
           return std::ranges::find(row.operators, op, &Operator::op) != row.operators.end();
         });
}

}  // namespace detol::inline exporting

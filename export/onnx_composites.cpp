// Operator sets 13 and 17 have no SiLU and no GELU, and 13 no hard swish: each is x times a gate.

#include "export/onnx_composites.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "encodings/network/activation_functions.h"
#include "export/onnx_constants.h"
#include "export/onnx_interface.h"

namespace detol::inline exporting {
namespace {

struct Attribute {
  const char* name;
  float value;
};

// Operator is one node. Its operands: kX is what the layer reads, kGamma and kBeta are its weights,
// kNumber is `number`, and what begins with a dot is the node of that name.
constexpr std::string_view kX = "x", kGamma = "gamma", kBeta = "beta", kNumber = "number";
struct Operator {
  const char* op;
  std::vector<std::string_view> operands = {kX};
  const char* name = "";  // behind the layer's name; the last operator has none
  double number = 0;
  std::vector<Attribute> attributes = {};
  std::optional<std::int64_t> axis = {};
  OnnxNodes::Integers axes = {};
};

struct CompositeRow {
  Layer layer;
  std::vector<Operator> operators;
};

Layer layer_of(Activation function) {
  return {.kind = LayerKind::kActivation, .activation = function};
}

const std::vector<CompositeRow>& composites() {
  static const std::vector<CompositeRow> kComposites = {
      {layer_of(Activation::kRelu), {{.op = "Relu"}}},
      {layer_of(Activation::kSigmoid), {{.op = "Sigmoid"}}},
      {layer_of(Activation::kTanh), {{.op = "Tanh"}}},
      {layer_of(Activation::kLeakyRelu),
       {{.op = "LeakyRelu", .attributes = {{"alpha", static_cast<float>(kLeakySlope)}}}}},
      {layer_of(Activation::kSilu),
       {{.op = "Sigmoid", .name = ".sigmoid"}, {.op = "Mul", .operands = {kX, ".sigmoid"}}}},
      {layer_of(Activation::kHardSwish),
       {{.op = "HardSigmoid", .name = ".gate", .attributes = {{"alpha", 1.0F / 6}, {"beta", 0.5F}}},
        {.op = "Mul", .operands = {kX, ".gate"}}}},
      {layer_of(Activation::kGelu),
       {{"Mul", {kX, kNumber}, ".scaled", 0.70710678118654752440},
        {"Erf", {".scaled"}, ".erf"},
        {"Mul", {".erf", kNumber}, ".half", 0.5},
        {"Add", {".half", kNumber}, ".gate", 0.5},
        {"Mul", {kX, ".gate"}}}},
      {layer_of(Activation::kGeluTanh),
       {{"Mul", {kX, kX}, ".square"},
        {"Mul", {".square", kNumber}, ".cube", kGeluCube},
        {"Add", {".cube", kNumber}, ".slope", kGeluScale},
        {"Mul", {kX, ".slope"}, ".scaled"},
        {"Sigmoid", {".scaled"}, ".gate"},
        {"Mul", {kX, ".gate"}}}},
      {{.kind = LayerKind::kLayerNorm},
       {{.op = "LayerNormalization",
         .operands = {kX, kGamma, kBeta},
         .attributes = {{"epsilon", kOnnxEpsilon}},
         .axis = -1}}},
      {{.kind = LayerKind::kRmsNorm},
       {{"Mul", {kX, kX}, ".square"},
        {.op = "ReduceMean", .operands = {".square"}, .name = ".mean", .axes = {-1}},
        {"Add", {".mean", kNumber}, ".shifted", kNormEpsilon},
        {"Sqrt", {".shifted"}, ".root"},
        {"Div", {kX, ".root"}, ".normal"},
        {"Mul", {".normal", kGamma}}}},
  };
  return kComposites;
}

bool is_same(const Layer& row, const Layer& layer) {
  return row.kind == layer.kind && row.activation == layer.activation;
}

std::string edge_of(std::string_view operand, const std::string& name, const std::string& input,
                    const OnnxNodes::Names& weights) {
  if (operand == kX) return input;
  if (operand == kGamma) return weights[0];
  if (operand == kBeta) return weights[1];
  return name + std::string(operand);
}

// Returns the names of the weights that the nodes from `first` on read, if they are this row's.
OnnxNodes::Names weights_at(const onnx::GraphProto& graph, int first, const CompositeRow& row) {
  OnnxNodes::Names weights;
  for (std::size_t i = 0; i < row.operators.size(); ++i) {
    const onnx::NodeProto& node = graph.node(first + static_cast<int>(i));
    const auto& operands = row.operators[i].operands;
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
      const bool is_weight = operands[slot] == kGamma || operands[slot] == kBeta;
      const auto at = static_cast<int>(slot);
      if (is_weight) weights.push_back(at < node.input_size() ? node.input(at) : "");
    }
  }
  return weights;
}

}  // namespace

void add_composite(OnnxNodes& nodes, const Layer& layer, const std::string& name,
                   const std::string& input, const OnnxNodes::Names& weights) {
  const auto row = std::ranges::find_if(
      composites(), [&](const CompositeRow& one) { return is_same(one.layer, layer); });
  for (const Operator& one : row->operators) {
    const std::string own = name + one.name;
    OnnxNodes::Names inputs;
    for (const std::string_view operand : one.operands)
      inputs.push_back(operand == kNumber
                           ? nodes.floats(own + ".number", {}, {static_cast<float>(one.number)})
                           : edge_of(operand, name, input, weights));
    onnx::NodeProto& added = nodes.add(one.op, own, inputs);
    if (!one.axes.empty()) OnnxNodes::set_ints(added, "axes", one.axes);
    if (one.axis) OnnxNodes::set_int(added, "axis", *one.axis);
    for (const Attribute& attribute : one.attributes)
      OnnxNodes::set_float(added, attribute.name, attribute.value);
  }
}

std::optional<OnnxComposite> composite_at(const onnx::GraphProto& graph, int first) {
  std::optional<OnnxComposite> found;
  for (const CompositeRow& row : composites()) {
    const auto count = static_cast<int>(row.operators.size());
    const bool may_be = first + count <= graph.node_size() && graph.node(first).input_size() > 0 &&
                        graph.node(first).op_type() == row.operators.front().op &&
                        (!found || found->nodes < count);
    if (!may_be) continue;
    const onnx::NodeProto& last = graph.node(first + count - 1);
    if (last.output_size() != 1) continue;
    OnnxNodes::Names weights = weights_at(graph, first, row);
    onnx::GraphProto expected;
    OnnxNodes nodes(expected);
    add_composite(nodes, row.layer, last.name(), graph.node(first).input(0), weights);
    // The last node of a graph is called as its output is.
    expected.mutable_node(count - 1)->set_output(0, last.output(0));
    if (has_nodes(graph, first, expected)) found = {row.layer, count, std::move(weights)};
  }
  return found;
}

bool is_of_composite(const std::string& op) {
  return std::ranges::any_of(composites(), [&](const CompositeRow& row) {
    return std::ranges::any_of(row.operators, [&](const Operator& one) { return one.op == op; });
  });
}

}  // namespace detol::inline exporting

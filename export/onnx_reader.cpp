// An ONNX graph as a network: the inverse of onnx.cpp, one layer per ONNX node except where that
// file says otherwise. The file is a stranger's: every name is looked up, every shape is held to
// the rules of encodings/layer.h, every length to the bytes that are there. Nodes must be
// sorted, as ONNX demands, so that a cycle is a node that reads what nobody computed yet.

#include "export/onnx_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>

#include "core/table.h"
#include "export/architecture.h"
#include "export/onnx_attributes.h"
#include "export/onnx_constants.h"

namespace detol {
namespace {

using Integers = std::vector<std::int64_t>;

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(ErrorCode::kInput, what);
}

// What a name of the graph stands for: a node of the network, as N x C x H x W or as N x C.
struct Edge {
  NodeId node = 0;
  bool is_matrix = false;
};

struct Normalisation {
  std::vector<float> mean, deviation;
};

// Shape and name of the graph's only input.
struct Input {
  Shape shape;
  std::string name;
};

class GraphReader {
 public:
  GraphReader(const onnx::GraphProto& graph, OnnxConstants constants, Input input)
      : graph_(graph),
        constants_(std::move(constants)),
        input_(std::move(input)),
        builder_(input_.shape) {}

  Result<void> read(Model& model) {
    if (graph_.node_size() < 2) return refuse("its graph has no nodes that normalise the input");
    DETOL_TRY(read_normalisation(model));
    for (int i = 2; i < graph_.node_size(); ++i) {
      const Result<void> read = read_node(graph_.node(i));
      if (!read)
        return refuse(
            fmt::format("node {}: {}", in_quotes(graph_.node(i).name()), read.error().message));
    }
    DETOL_ASSIGN(const NodeId last, output());
    auto network = builder_.build(last);
    if (!network) return refuse(network.error().message);
    model.network = std::move(*network);
    DETOL_TRY(check_size(model.network));
    DETOL_ASSIGN(model.weights, weights_of(model.network));
    return {};
  }

 private:
  using Node = onnx::NodeProto;
  using Operation = Result<Edge> (GraphReader::*)(const Node&);
  struct OperationRow {
    std::string_view name;
    int fewest_inputs, most_inputs;
    Operation read;
  };
  static constexpr int kAny = std::numeric_limits<int>::max();
  static std::span<const OperationRow> operations();

  // input - mean, then that / deviation.
  Result<void> read_normalisation(Model& model) {
    const Node& centre = graph_.node(0);
    const Node& divide = graph_.node(1);
    const bool as_written = centre.op_type() == "Sub" && divide.op_type() == "Div" &&
                            centre.input_size() == 2 && divide.input_size() == 2 &&
                            centre.output_size() == 1 && divide.output_size() == 1 &&
                            centre.input(0) == input_.name && divide.input(0) == centre.output(0);
    if (!as_written) return refuse("its first two nodes do not normalise the input");
    const Integers shape{1, input_.shape.channels, 1, 1};
    DETOL_ASSIGN(model.mean, constants_.floats(centre.input(1), shape));
    DETOL_ASSIGN(model.deviation, constants_.floats(divide.input(1), shape));
    edges_[divide.output(0)] = {builder_.input(), false};
    return {};
  }

  Result<void> read_node(const Node& node) {
    const OperationRow* row = find_row(operations(), node.op_type());
    if (row == nullptr || !(node.domain().empty() || node.domain() == "ai.onnx"))
      return refuse(fmt::format("detol writes no operator {}", in_quotes(node.op_type())));
    if (node.input_size() < row->fewest_inputs || node.input_size() > row->most_inputs)
      return refuse(fmt::format("{} with {} inputs", row->name, node.input_size()));
    if (node.output_size() != 1) return refuse(fmt::format("{} outputs", node.output_size()));
    DETOL_ASSIGN(const Edge edge, (this->*row->read)(node));
    if (edges_.emplace(node.output(0), edge).second) return {};
    return refuse(fmt::format("{} is computed twice", in_quotes(node.output(0))));
  }

  Result<Edge> edge(const Node& node, int slot) const {
    const auto found = edges_.find(node.input(slot));
    if (found != edges_.end()) return found->second;
    return refuse(
        fmt::format("it reads {}, which no node before it computes", in_quotes(node.input(slot))));
  }

  Result<Edge> image(const Node& node, int slot = 0) const {
    DETOL_ASSIGN(const Edge found, edge(node, slot));
    if (!found.is_matrix) return found;
    return refuse(fmt::format("it reads the matrix {} as images", in_quotes(node.input(slot))));
  }

  Result<Edge> matrix(const Node& node) const {
    DETOL_ASSIGN(const Edge found, edge(node, 0));
    if (found.is_matrix) return found;
    return refuse(fmt::format("it reads the images {} as a matrix", in_quotes(node.input(0))));
  }

  // For operators to which both are the same: then a matrix must be one to us too.
  Result<Edge> either(const Node& node) const {
    DETOL_ASSIGN(const Edge found, edge(node, 0));
    const Shape& shape = builder_.shape(found.node);
    if (!found.is_matrix || shape.height * shape.width == 1) return found;
    return refuse(
        fmt::format("it reads {} flat, which only dense layers do", in_quotes(node.input(0))));
  }

  Edge add(const Node& node, const Layer& layer, std::vector<NodeId> inputs, bool is_matrix) {
    return {builder_.add(layer, std::move(inputs), node.name()), is_matrix};
  }

  // The layer's tensors are the node's inputs from 1 on, in the order of parameters_of().
  Result<void> take_weights(const Node& node, std::initializer_list<std::string_view> names) {
    int slot = 1;
    for (const std::string_view name : names) {
      if (slot == node.input_size()) return {};
      DETOL_ASSIGN(const onnx::TensorProto* constant, constants_.take(node.input(slot++)));
      if (!weights_.emplace(fmt::format("{}.{}", node.name(), name), constant).second)
        return refuse("another node has this name");
    }
    return {};
  }

  // The extents of the constant that a node reads as its weight.
  Result<Integers> extents(const Node& node, int rank) const {
    DETOL_ASSIGN(const Integers shape, constants_.shape(node.input(1)));
    if (static_cast<int>(shape.size()) == rank) return shape;
    return refuse(fmt::format("its weight has {} extents instead of {}", shape.size(), rank));
  }

  // Kernel, stride and padding, as windowed() in onnx.cpp writes them.
  static Result<void> read_window(OnnxAttributes& attributes, Layer& layer) {
    const Integers kernel = attributes.integers("kernel_shape", {layer.kernel, layer.kernel});
    const Integers strides = attributes.integers("strides", {1, 1});
    const Integers dilations = attributes.integers("dilations", {1, 1});
    const Integers pads = attributes.integers("pads", {0, 0, 0, 0});
    for (const Integers& pair : {kernel, strides, dilations}) {
      // Beyond 1024 no layer goes; here it keeps the padding's product small.
      if (pair.size() != 2 || pair[0] != pair[1] || pair[0] < 1 || pair[0] > 1024)
        return refuse("its kernel, strides and dilations must be square, of 1 to 1024");
    }
    layer.kernel = kernel[0];
    layer.stride = strides[0];
    layer.dilation = dilations[0];
    const std::int64_t padding = (layer.kernel - 1) * layer.dilation / 2;
    if (pads != Integers(4, padding))
      return refuse(fmt::format("its padding must be {} on every side", padding));
    return {};
  }

  Result<Edge> conv(const Node& node) {
    DETOL_ASSIGN(const Edge x, image(node));
    DETOL_ASSIGN(const Integers shape, extents(node, 4));
    Layer layer{.kind = LayerKind::kConv,
                .channels = shape[0],
                .kernel = shape[2],
                .bias = node.input_size() == 3};
    OnnxAttributes attributes(node);
    DETOL_TRY(read_window(attributes, layer));
    layer.groups = attributes.integer("group", 1);
    DETOL_TRY(attributes.finish());
    DETOL_TRY(take_weights(node, {"weight", "bias"}));
    return add(node, layer, {x.node}, false);
  }

  Result<Edge> dense(const Node& node) {
    DETOL_ASSIGN(const Edge x, matrix(node));
    DETOL_ASSIGN(const Integers shape, extents(node, 2));
    OnnxAttributes attributes(node);
    attributes.must_be("transB", 1, 0);
    DETOL_TRY(attributes.finish());
    DETOL_TRY(take_weights(node, {"weight", "bias"}));
    const Layer layer{
        .kind = LayerKind::kDense, .channels = shape[0], .bias = node.input_size() == 3};
    return add(node, layer, {x.node}, true);
  }

  Result<Edge> batch_norm(const Node& node) {
    DETOL_ASSIGN(const Edge x, image(node));
    OnnxAttributes attributes(node);
    const float epsilon = attributes.number("epsilon", kOnnxEpsilon);
    DETOL_TRY(attributes.finish());
    if (epsilon != kOnnxEpsilon) return refuse(fmt::format("epsilon is {}, not 1e-5", epsilon));
    DETOL_TRY(take_weights(node, {"gamma", "beta", "running_mean", "running_var"}));
    return add(node, {.kind = LayerKind::kBatchNorm}, {x.node}, false);
  }

  Result<Edge> activation(const Node& node, Activation function) {
    DETOL_ASSIGN(const Edge x, either(node));
    DETOL_TRY(OnnxAttributes(node).finish());
    return add(node, {.kind = LayerKind::kActivation, .activation = function}, {x.node},
               x.is_matrix);
  }
  Result<Edge> relu(const Node& node) { return activation(node, Activation::kRelu); }
  Result<Edge> sigmoid(const Node& node) {
    DETOL_ASSIGN(const Edge made, activation(node, Activation::kSigmoid));
    sigmoid_of_[made.node] = edges_.at(node.input(0)).node;
    return made;
  }

  // SiLU is the one multiplication of a tensor with its own sigmoid that has this name; the
  // sigmoid itself then leads nowhere and the builder drops it.
  Result<Edge> multiply(const Node& node) {
    DETOL_ASSIGN(const Edge x, edge(node, 0));
    DETOL_ASSIGN(const Edge y, edge(node, 1));
    const auto sigmoid = sigmoid_of_.find(y.node);
    const bool is_silu = node.input(1) == node.name() + ".sigmoid" &&
                         sigmoid != sigmoid_of_.end() && sigmoid->second == x.node;
    if (is_silu) return activation(node, Activation::kSilu);
    if (x.is_matrix || y.is_matrix) return refuse("it multiplies matrices");
    DETOL_TRY(OnnxAttributes(node).finish());
    return add(node, {.kind = LayerKind::kScale}, {x.node, y.node}, false);
  }

  Result<Edge> sum(const Node& node) {
    std::vector<NodeId> inputs;
    for (int slot = 0; slot < node.input_size(); ++slot) {
      DETOL_ASSIGN(const Edge x, image(node, slot));
      inputs.push_back(x.node);
    }
    DETOL_TRY(OnnxAttributes(node).finish());
    return add(node, {.kind = LayerKind::kAdd}, std::move(inputs), false);
  }

  Result<Edge> pool(const Node& node, LayerKind kind, std::string_view option) {
    DETOL_ASSIGN(const Edge x, image(node));
    Layer layer{.kind = kind};
    OnnxAttributes attributes(node);
    DETOL_TRY(read_window(attributes, layer));
    attributes.must_be("ceil_mode", 0, 0);
    attributes.must_be(option, 0, 0);
    DETOL_TRY(attributes.finish());
    if (layer.dilation != 1) return refuse("detol's pooling has no dilation");
    return add(node, layer, {x.node}, false);
  }
  Result<Edge> max_pool(const Node& node) {
    return pool(node, LayerKind::kMaxPool, "storage_order");
  }
  Result<Edge> avg_pool(const Node& node) {
    return pool(node, LayerKind::kAvgPool, "count_include_pad");
  }

  Result<Edge> global_avg_pool(const Node& node) {
    DETOL_ASSIGN(const Edge x, image(node));
    DETOL_TRY(OnnxAttributes(node).finish());
    return add(node, {.kind = LayerKind::kGlobalAvgPool}, {x.node}, false);
  }

  // A layer of its own, or by its name only the step from images to a matrix before a dense one.
  Result<Edge> flatten(const Node& node) {
    OnnxAttributes attributes(node);
    attributes.must_be("axis", 1, 1);
    DETOL_TRY(attributes.finish());
    if (node.name() == node.input(0) + ".matrix") {
      DETOL_ASSIGN(const Edge x, image(node));
      return Edge{x.node, true};
    }
    DETOL_ASSIGN(const Edge x, either(node));
    return add(node, {.kind = LayerKind::kFlatten}, {x.node}, true);
  }

  Result<Edge> unsqueeze(const Node& node) {
    DETOL_ASSIGN(const Edge x, matrix(node));
    DETOL_TRY(either(node));
    DETOL_ASSIGN(const Integers axes, constants_.integers(node.input(1)));
    DETOL_TRY(OnnxAttributes(node).finish());
    if (axes != Integers{2, 3}) return refuse("its axes must be 2 and 3");
    return Edge{x.node, false};
  }

  Result<Edge> dropout(const Node& node) {
    DETOL_ASSIGN(const Edge x, either(node));
    DETOL_ASSIGN(const double rate, constants_.scalar(node.input(1)));
    DETOL_TRY(OnnxAttributes(node).finish());
    if (!(rate >= 0 && rate < 1)) return refuse(fmt::format("its ratio is {}", rate));
    return add(node, {.kind = LayerKind::kDropout, .rate = rate}, {x.node}, x.is_matrix);
  }

  Result<NodeId> output() const {
    if (graph_.output_size() != 1) return refuse("its graph must have one output");
    const auto found = edges_.find(graph_.output(0).name());
    if (found == edges_.end() || !found->second.is_matrix)
      return refuse("its output is no matrix that a node computes");
    return found->second.node;
  }

  Result<Weights> weights_of(const Network& network) const {
    Weights weights;
    for (const NetworkParameter& parameter : network.parameters()) {
      const auto found = weights_.find(parameter.name);
      if (found == weights_.end())
        return refuse(fmt::format("{} has no constant", in_quotes(parameter.name)));
      DETOL_ASSIGN(std::vector<float> data, floats_of(*found->second, parameter.spec.shape));
      weights.push_back({parameter.name, parameter.spec.shape, std::move(data)});
    }
    return weights;
  }

  const onnx::GraphProto& graph_;
  OnnxConstants constants_;
  const Input input_;
  NetworkBuilder builder_;
  std::map<std::string, Edge, std::less<>> edges_;
  std::map<NodeId, NodeId> sigmoid_of_;                      // what it is the sigmoid of
  std::map<std::string, const onnx::TensorProto*> weights_;  // by the parameter's name
};

std::span<const GraphReader::OperationRow> GraphReader::operations() {
  using Self = GraphReader;
  static constexpr std::array kOperations = {
      OperationRow{"Conv", 2, 3, &Self::conv},
      OperationRow{"Gemm", 2, 3, &Self::dense},
      OperationRow{"BatchNormalization", 5, 5, &Self::batch_norm},
      OperationRow{"Relu", 1, 1, &Self::relu},
      OperationRow{"Sigmoid", 1, 1, &Self::sigmoid},
      OperationRow{"Mul", 2, 2, &Self::multiply},
      OperationRow{"Add", 2, 2, &Self::sum},
      OperationRow{"Sum", 2, kAny, &Self::sum},
      OperationRow{"MaxPool", 1, 1, &Self::max_pool},
      OperationRow{"AveragePool", 1, 1, &Self::avg_pool},
      OperationRow{"GlobalAveragePool", 1, 1, &Self::global_avg_pool},
      OperationRow{"Flatten", 1, 1, &Self::flatten},
      OperationRow{"Unsqueeze", 2, 2, &Self::unsqueeze},
      OperationRow{"Dropout", 2, 2, &Self::dropout},
  };
  return kOperations;
}

Result<Input> input_of(const onnx::GraphProto& graph) {
  if (graph.input_size() != 1) return refuse("its graph must have one input");
  const onnx::TypeProto& type = graph.input(0).type();
  const onnx::TensorShapeProto& shape = type.tensor_type().shape();
  if (type.tensor_type().elem_type() != onnx::TensorProto::FLOAT || shape.dim_size() != 4)
    return refuse("its input is no N x C x H x W floats");
  Integers extents;
  for (int i = 1; i < 4; ++i) extents.push_back(shape.dim(i).dim_value());
  if (*std::ranges::min_element(extents) < 1)
    return refuse("its input has an extent that is not positive");
  const Input input{{extents[0], extents[1], extents[2]}, graph.input(0).name()};
  DETOL_TRY(check_size(input.shape));
  return input;
}

}  // namespace

Result<void> read_onnx_graph(const onnx::GraphProto& graph, Model& model) {
  DETOL_ASSIGN(Input input, input_of(graph));
  DETOL_ASSIGN(OnnxConstants constants, OnnxConstants::of(graph));
  return GraphReader(graph, std::move(constants), std::move(input)).read(model);
}

}  // namespace detol

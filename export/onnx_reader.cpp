// Reads an ONNX graph as a network, the inverse of onnx.cpp: one layer per ONNX node with the
// exceptions listed there. The file is untrusted: every name is looked up, every shape is checked
// against the rules of encodings/network/layer.h, every length against the bytes of the file. Nodes
// must be sorted, as ONNX demands, so that a cycle has a node that reads a tensor computed later.

#include "export/onnx_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>

#include "core/table.h"
#include "export/architecture.h"
#include "export/metadata.h"
#include "export/onnx_attention.h"
#include "export/onnx_attributes.h"
#include "export/onnx_composites.h"
#include "export/onnx_constants.h"
#include "export/onnx_edges.h"
#include "export/onnx_interface.h"
#include "export/onnx_levels.h"
#include "export/onnx_table.h"
#include "export/refuse.h"

namespace detol::inline exporting {
namespace {

using Integers = std::vector<std::int64_t>;

class GraphReader {
 public:
  GraphReader(const onnx::GraphProto& graph, OnnxConstants constants, const Shape& shape)
      : graph_(graph), constants_(std::move(constants)), builder_(shape), edges_(builder_) {}

  Result<void> read(const Shape& shape, Model& model) {
    onnx::GraphProto before, after;
    edges_.emplace(add_inputs(before, {model, shape, input_names()}), {builder_.input()});
    DETOL_TRY(begins_with(graph_, before));
    DETOL_ASSIGN(const std::int64_t outputs, outputs_declared());
    add_outputs(after, model, outputs);
    DETOL_TRY(ends_with(graph_, after));
    for (int i = before.node_size(); i < graph_.node_size() - after.node_size();) {
      const Result<int> read = read_at(i);
      if (!read)
        return refuse(
            fmt::format("node {}: {}", in_quotes(graph_.node(i).name()), read.error().message));
      i += *read;
    }
    DETOL_ASSIGN(const NodeId last, output(network_output_name(model)));
    auto network = builder_.build(last);
    if (!network) return refuse(network.error().message);
    model.network = std::move(*network);
    DETOL_TRY(check_size(model.network));
    DETOL_ASSIGN(model.weights, weights_of(model.network));
    return {};
  }

 private:
  using Node = onnx::NodeProto;
  using Operation = Result<OnnxEdge> (GraphReader::*)(const Node&);
  struct OperationRow {
    std::string_view name;
    int fewest_inputs, most_inputs;
    Operation read;
  };
  static constexpr int kAny = std::numeric_limits<int>::max();
  static std::span<const OperationRow> operations();

  std::vector<std::string> input_names() const {
    std::vector<std::string> names;
    for (const auto& input : graph_.input()) names.push_back(input.name());
    return names;
  }

  Result<std::int64_t> outputs_declared() const {
    if (graph_.output_size() == 0) return refuse("its graph has no output");
    const auto& shape = graph_.output(graph_.output_size() - 1).type().tensor_type().shape();
    if (shape.dim_size() != 2) return refuse("its last output is no matrix");
    return shape.dim(1).dim_value();
  }

  // Reads the layer whose nodes begin at the index. Returns how many they are.
  Result<int> read_at(int index) {
    const Node& first = graph_.node(index);
    if (first.op_type() == "Reshape") return attention(index);
    const auto composite = composite_at(graph_, index);
    if (!composite) return read_node(first).map([] { return 1; });
    const bool is_norm = row_of(composite->layer.kind).role == LayerRole::kChannelNorm;
    DETOL_ASSIGN(const OnnxEdge x, is_norm ? edge_of_norm(first) : edges_.either(first));
    const Node& last = graph_.node(index + composite->nodes - 1);
    const Shape shape = builder_.shape(x.node);
    const auto specs = parameters_of(composite->layer, std::span(&shape, 1));
    for (std::size_t i = 0; i < specs.size(); ++i)
      DETOL_TRY(
          take_weight(composite->weights[i], fmt::format("{}.{}", last.name(), specs[i].name)));
    OnnxEdge made = add(last, composite->layer, {x.node}, x.is_matrix);
    made.is_channels_last = x.is_channels_last;
    DETOL_TRY(keep(last, made));
    return composite->nodes;
  }

  Result<int> attention(int index) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.image(graph_.node(index), 0));
    DETOL_ASSIGN(const OnnxAttention found,
                 read_attention(graph_, index, constants_, builder_.shape(x.node)));
    const Node& last = graph_.node(index + found.nodes - 1);
    DETOL_TRY(keep(last, add(last, found.layer, {x.node}, false)));
    return found.nodes;
  }

  // Returns what a norm of channels reads: a matrix, or an image whose channels come last.
  Result<OnnxEdge> edge_of_norm(const Node& node) const {
    DETOL_ASSIGN(const OnnxEdge x, edges_.any(node, 0));
    if (x.is_channels_last) return x;
    DETOL_TRY(edges_.matrix(node));
    return edges_.either(node);
  }

  Result<void> keep(const Node& node, const OnnxEdge& edge) {
    if (edges_.emplace(node.output(0), edge)) return {};
    return refuse(fmt::format("{} is computed twice", in_quotes(node.output(0))));
  }

  Result<void> read_node(const Node& node) {
    const OperationRow* row = find_row(operations(), node.op_type());
    if (row == nullptr && is_of_composite(node.op_type()))
      return refuse(fmt::format("{} is not as detol writes it", node.op_type()));
    if (row == nullptr || !(node.domain().empty() || node.domain() == "ai.onnx"))
      return refuse(fmt::format("detol writes no operator {}", in_quotes(node.op_type())));
    if (node.input_size() < row->fewest_inputs || node.input_size() > row->most_inputs)
      return refuse(fmt::format("{} with {} inputs", row->name, node.input_size()));
    if (node.output_size() != 1) return refuse(fmt::format("{} outputs", node.output_size()));
    if (row->name == "QuantizeLinear") return quantize(node);
    if (row->name == "DequantizeLinear" && !quantizers_.contains(node.input(0)))
      return integers_.read(constants_, node);
    DETOL_ASSIGN(const OnnxEdge edge, (this->*row->read)(node));
    return keep(node, edge);
  }

  OnnxEdge add(const Node& node, const Layer& layer, std::vector<NodeId> inputs, bool is_matrix) {
    return {builder_.add(layer, std::move(inputs), node.name()), is_matrix, false};
  }

  // Takes the layer's tensors: the node's inputs from 1 on, in the order of parameters_of().
  Result<void> take_weights(const Node& node, std::initializer_list<std::string_view> names) {
    int slot = 1;
    for (const std::string_view name : names) {
      if (slot == node.input_size()) return {};
      DETOL_TRY(take_weight(node.input(slot++), fmt::format("{}.{}", node.name(), name)));
    }
    return {};
  }

  Result<void> take_weight(const std::string& input, const std::string& own) {
    if (integers_.find(input) != nullptr) return integers_.give(input, own);
    DETOL_ASSIGN(const onnx::TensorProto* constant, constants_.take(input));
    if (weights_.emplace(own, constant).second) return {};
    return refuse("another node has this name");
  }

  // Returns the extents of the constant that a node reads as its weight.
  Result<Integers> extents(const Node& node, int rank) const {
    Integers shape;
    if (const Tensor* weight = integers_.find(node.input(1))) {
      shape = weight->shape;
    } else {
      DETOL_ASSIGN(shape, constants_.shape(node.input(1)));
    }
    if (static_cast<int>(shape.size()) == rank) return shape;
    return refuse(fmt::format("its weight has {} extents instead of {}", shape.size(), rank));
  }

  Result<OnnxEdge> conv(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.image(node, 0));
    DETOL_ASSIGN(const Integers shape, extents(node, 4));
    Layer layer{.kind = LayerKind::kConv,
                .channels = shape[0],
                .kernel = shape[3],
                .kernel_height = shape[2],
                .bias = node.input_size() == 3};
    OnnxAttributes attributes(node);
    DETOL_TRY(attributes.window(layer));
    layer.groups = attributes.integer("group", 1);
    DETOL_TRY(attributes.finish());
    DETOL_TRY(take_weights(node, {"weight", "bias"}));
    return add(node, layer, {x.node}, false);
  }

  Result<OnnxEdge> dense(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.matrix(node));
    DETOL_ASSIGN(const Integers shape, extents(node, 2));
    OnnxAttributes attributes(node);
    attributes.must_be("transB", 1, 0);
    DETOL_TRY(attributes.finish());
    DETOL_TRY(take_weights(node, {"weight", "bias"}));
    const Layer layer{
        .kind = LayerKind::kDense, .channels = shape[0], .bias = node.input_size() == 3};
    return add(node, layer, {x.node}, true);
  }

  Result<OnnxEdge> batch_norm(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.image(node, 0));
    OnnxAttributes attributes(node);
    const float epsilon = attributes.number("epsilon", kOnnxEpsilon);
    DETOL_TRY(attributes.finish());
    if (epsilon != kOnnxEpsilon) return refuse(fmt::format("epsilon is {}, not 1e-5", epsilon));
    DETOL_TRY(take_weights(node, {"gamma", "beta", "running_mean", "running_var"}));
    return add(node, {.kind = LayerKind::kBatchNorm}, {x.node}, false);
  }

  // Reads a transposition to channels last or back.
  Result<OnnxEdge> transpose(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.any(node, 0));
    OnnxAttributes attributes(node);
    const Integers order = attributes.integers("perm", {});
    DETOL_TRY(attributes.finish());
    const Integers& expected = x.is_channels_last ? kToChannelsFirst : kToChannelsLast;
    if (x.is_matrix || order != expected)
      return refuse("it moves other axes than the channels of images");
    return OnnxEdge{x.node, false, !x.is_channels_last};
  }

  Result<OnnxEdge> scale(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.channels_first(node, 0));
    DETOL_ASSIGN(const OnnxEdge y, edges_.channels_first(node, 1));
    if (x.is_matrix || y.is_matrix) return refuse("it multiplies matrices");
    DETOL_TRY(OnnxAttributes(node).finish());
    return add(node, {.kind = LayerKind::kScale}, {x.node, y.node}, false);
  }

  Result<OnnxEdge> sum(const Node& node) {
    DETOL_ASSIGN(std::vector<NodeId> inputs, edges_.images(node));
    DETOL_TRY(OnnxAttributes(node).finish());
    return add(node, {.kind = LayerKind::kAdd}, std::move(inputs), false);
  }

  Result<OnnxEdge> concat(const Node& node) {
    DETOL_ASSIGN(std::vector<NodeId> inputs, edges_.images(node));
    OnnxAttributes attributes(node);
    attributes.must_be("axis", 1, 0);
    DETOL_TRY(attributes.finish());
    return add(node, {.kind = LayerKind::kConcat}, std::move(inputs), false);
  }

  Result<OnnxEdge> pool(const Node& node, LayerKind kind, std::string_view option) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.image(node, 0));
    Layer layer{.kind = kind};
    OnnxAttributes attributes(node);
    DETOL_TRY(attributes.window(layer));
    attributes.must_be("ceil_mode", 0, 0);
    attributes.must_be(option, 0, 0);
    DETOL_TRY(attributes.finish());
    if (layer.dilation != 1) return refuse("detol's pooling has no dilation");
    return add(node, layer, {x.node}, false);
  }
  Result<OnnxEdge> max_pool(const Node& node) {
    return pool(node, LayerKind::kMaxPool, "storage_order");
  }
  Result<OnnxEdge> avg_pool(const Node& node) {
    return pool(node, LayerKind::kAvgPool, "count_include_pad");
  }

  Result<OnnxEdge> global_avg_pool(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.image(node, 0));
    DETOL_TRY(OnnxAttributes(node).finish());
    return add(node, {.kind = LayerKind::kGlobalAvgPool}, {x.node}, false);
  }

  // Reads a flatten layer, or, if its name is <input>.matrix, the conversion before a dense layer.
  Result<OnnxEdge> flatten(const Node& node) {
    OnnxAttributes attributes(node);
    attributes.must_be("axis", 1, 1);
    DETOL_TRY(attributes.finish());
    if (node.name() == node.input(0) + ".matrix") {
      DETOL_ASSIGN(const OnnxEdge x, edges_.image(node, 0));
      return OnnxEdge{x.node, true, false};
    }
    DETOL_ASSIGN(const OnnxEdge x, edges_.either(node));
    return add(node, {.kind = LayerKind::kFlatten}, {x.node}, true);
  }

  Result<OnnxEdge> unsqueeze(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.matrix(node));
    DETOL_TRY(edges_.either(node));
    DETOL_ASSIGN(const Integers axes, constants_.integers(node.input(1)));
    DETOL_TRY(OnnxAttributes(node).finish());
    if (axes != Integers{2, 3}) return refuse("its axes must be 2 and 3");
    return OnnxEdge{x.node, false, false};
  }

  Result<OnnxEdge> dropout(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.either(node));
    DETOL_ASSIGN(const double rate, constants_.scalar(node.input(1)));
    DETOL_TRY(OnnxAttributes(node).finish());
    if (!(rate >= 0 && rate < 1)) return refuse(fmt::format("its ratio is {}", rate));
    return add(node, {.kind = LayerKind::kDropout, .rate = rate}, {x.node}, x.is_matrix);
  }

  // Reads the first half of a kQuantize. Only its second half reads it.
  Result<void> quantize(const Node& node) {
    DETOL_ASSIGN(const OnnxEdge x, edges_.either(node));
    DETOL_TRY(OnnxAttributes(node).finish());
    DETOL_ASSIGN(const Layer layer, read_levels(constants_, node));
    if (quantizers_.emplace(node.output(0), Quantizer{layer, x}).second) return {};
    return refuse("another node has this output");
  }

  // Reads the second half of a kQuantize.
  Result<OnnxEdge> dequantize(const Node& node) {
    const auto& [levels, x] = quantizers_.at(node.input(0));
    DETOL_TRY(OnnxAttributes(node).finish());
    DETOL_ASSIGN(const Layer layer, read_levels(constants_, node));
    if (layer != levels) return refuse("its levels are not those of its QuantizeLinear");
    return add(node, layer, {x.node}, x.is_matrix);
  }

  Result<NodeId> output(const std::string& name) const {
    const OnnxEdge* found = edges_.find(name);
    if (found == nullptr || !found->is_matrix)
      return refuse("its output is no matrix that a node computes");
    return found->node;
  }

  Result<Weights> weights_of(const Network& network) const {
    Weights weights;
    for (const NetworkParameter& parameter : network.parameters()) {
      if (const Tensor* known = integers_.of(parameter.name)) {
        if (known->shape != parameter.spec.shape)
          return refuse(in_quotes(parameter.name) + " has not the shape of its layer");
        weights.push_back(*known);
        continue;
      }
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
  NetworkBuilder builder_;
  OnnxEdges edges_;
  std::map<std::string, const onnx::TensorProto*> weights_;  // by the parameter's name
  OnnxIntegerWeights integers_;
  struct Quantizer {
    Layer levels;
    OnnxEdge input;
  };
  std::map<std::string, Quantizer> quantizers_;  // first halves, by their outputs
};

std::span<const GraphReader::OperationRow> GraphReader::operations() {
  using Self = GraphReader;
  static constexpr std::array kOperations = {
      OperationRow{"Conv", 2, 3, &Self::conv},
      OperationRow{"Gemm", 2, 3, &Self::dense},
      OperationRow{"BatchNormalization", 5, 5, &Self::batch_norm},
      OperationRow{"Mul", 2, 2, &Self::scale},
      OperationRow{"Add", 2, 2, &Self::sum},
      OperationRow{"Sum", 2, kAny, &Self::sum},
      OperationRow{"MaxPool", 1, 1, &Self::max_pool},
      OperationRow{"AveragePool", 1, 1, &Self::avg_pool},
      OperationRow{"GlobalAveragePool", 1, 1, &Self::global_avg_pool},
      OperationRow{"Flatten", 1, 1, &Self::flatten},
      OperationRow{"Unsqueeze", 2, 2, &Self::unsqueeze},
      OperationRow{"Dropout", 2, 2, &Self::dropout},
      OperationRow{"Concat", 2, kAny, &Self::concat},
      OperationRow{"Transpose", 1, 1, &Self::transpose},
      OperationRow{"QuantizeLinear", 3, 3, nullptr},  // computes no edge
      OperationRow{"DequantizeLinear", 2, 3, &Self::dequantize},
  };
  return kOperations;
}

// Checks what the inputs' names are used for: as many as the data need.
Result<void> check_inputs(const onnx::GraphProto& graph, const Model& model) {
  const std::size_t names =
      model.table && !model.is_raw ? table_input_names(*model.table, model.network).size() : 1;
  if (std::cmp_equal(graph.input_size(), names)) return {};
  return refuse(fmt::format("its graph has {} inputs instead of {}", graph.input_size(), names));
}

}  // namespace

Result<void> read_onnx_graph(const onnx::GraphProto& graph, const Shape& shape, Model& model) {
  DETOL_TRY(check_size(shape));
  DETOL_TRY(check_inputs(graph, model));
  DETOL_ASSIGN(OnnxConstants constants, OnnxConstants::of(graph));
  return GraphReader(graph, std::move(constants), shape).read(shape, model);
}

}  // namespace detol::inline exporting

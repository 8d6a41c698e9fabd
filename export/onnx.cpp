// Writes a network as an ONNX graph: one ONNX node per layer, in the network's order, except that
//   - the nodes that prepare the input come first, those of label and probabilities last
//     (onnx_interface.h);
//   - some activation functions and norms are several nodes (onnx_composites.h);
//   - kQuantize is a QuantizeLinear and a DequantizeLinear; the layers behind it have weights of
//     eight bits and biases of 32, each with its DequantizeLinear (onnx_levels.h);
//   - dropout is written, too; ONNX defines that it does nothing at inference;
//   - detol's vectors are C x 1 x 1, ONNX's dense layers read N x C: a Flatten or an Unsqueeze
//     called <input>.matrix or <input>.image converts one to the other;
//   - ONNX's layer norm is over the last axis: a vector is normalised as the matrix N x C, an image
//     is transposed to channels last before it and back after it.
// onnx_reader.cpp reads these graphs back.
// The format: https://github.com/onnx/onnx/blob/main/docs/IR.md and Operators.md.

#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <limits>
#include <set>

#include "export/formats.h"
#include "export/json_text.h"
#include "export/metadata.h"
#include "export/onnx_attention.h"
#include "export/onnx_composites.h"
#include "export/onnx_constants.h"
#include "export/onnx_interface.h"
#include "export/onnx_levels.h"
#include "export/onnx_nodes.h"
#include "export/onnx_table.h"
#include "export/read_model.h"
#include "trainer/data/table_look.h"
#include "trainer/quantization/quantize.h"

namespace detol::inline exporting {
namespace {

// Versions: the oldest that have the operators. IR 7 belongs to operator set 13, IR 8 to set 17.
struct Versions {
  int ir, operators;
};

Versions versions_of(const Network& network) {
  const auto is_layer_norm = [](const Node& node) {
    return node.layer.kind == LayerKind::kLayerNorm;
  };
  const bool has_layer_norm = std::ranges::any_of(network.nodes(), is_layer_norm);
  return has_layer_norm ? Versions{8, kOnnxNormOpset} : Versions{7, kOnnxOpset};
}

// Edge: a tensor of the graph, N x C x H x W or, as a matrix, N x C.
struct Edge {
  std::string name;
  bool is_matrix = false;
};

class GraphWriter : private OnnxNodes {
 public:
  GraphWriter(const Model& model, onnx::GraphProto& graph)
      : OnnxNodes(graph), model_(model), graph_(graph) {}

  void write() {
    edges_.push_back({add_inputs(graph_, onnx_interface_of(model_))});
    const std::span<const Node> nodes = model_.network.nodes();
    for (NodeId id = 1; id < nodes.size(); ++id) edges_.push_back(layer(nodes[id]));
    as_matrix(edges_.back());
    // The last node written is the one that computes the output: all others lead to it.
    graph_.mutable_node(graph_.node_size() - 1)->set_output(0, network_output_name(model_));
    add_outputs(graph_, model_, outputs_of(model_));
  }

 private:
  // Adds the layer's tensors as constants, in the order of the inputs of ONNX's operators, which is
  // detol's order, too: weight, bias; gamma, beta, mean, variance.
  void add_weights(Names& inputs, std::size_t count) {
    for (; count > 0; --count, ++next_weight_) {
      const Tensor& tensor = model_.weights[next_weight_];
      inputs.push_back(floats(tensor.name, tensor.shape, tensor.data));
    }
  }

  // Adds the weight and bias of a convolution or dense layer, as integers if it reads integers.
  void add_product_weights(Names& inputs, const Node& node) {
    const std::size_t count = node.layer.bias ? 2 : 1;
    const auto id = static_cast<NodeId>(&node - model_.network.nodes().data());
    const auto quantizer = quantizer_of(model_.network, id);
    if (!quantizer) return add_weights(inputs, count);
    const std::span<const Tensor> tensors(model_.weights.data() + next_weight_, count);
    for (std::string& name :
         add_integer_weights(*this, tensors, model_.network.nodes()[*quantizer].layer))
      inputs.push_back(std::move(name));
    next_weight_ += count;
  }

  Edge as_matrix(const Edge& edge) {
    if (edge.is_matrix) return edge;
    const std::string name = edge.name + ".matrix";
    if (converted_.insert(name).second) set_int(add("Flatten", name, {edge.name}), "axis", 1);
    return {name, true};
  }

  Edge as_image(const Edge& edge) {
    if (!edge.is_matrix) return edge;
    const std::string name = edge.name + ".image";
    if (converted_.insert(name).second) {
      const std::string axes = integers(name + ".axes", {2}, {2, 3});
      add("Unsqueeze", name, {edge.name, axes});
    }
    return {name, false};
  }

  Edge layer(const Node& node) {
    const Edge& first = edges_[node.inputs[0]];
    switch (node.layer.kind) {
      case LayerKind::kInput:
        break;  // the builder makes one, as node 0
      case LayerKind::kConv:
        return conv(node, first);
      case LayerKind::kDense:
        return dense(node, first);
      case LayerKind::kBatchNorm:
        return batch_norm(node, first);
      case LayerKind::kActivation:
        return activation(node, first);
      case LayerKind::kMaxPool:
        return windowed(add("MaxPool", node.name, {as_image(first).name}), node);
      case LayerKind::kAvgPool:
        return windowed(add("AveragePool", node.name, {as_image(first).name}), node);
      case LayerKind::kGlobalAvgPool:
        add("GlobalAveragePool", node.name, {as_image(first).name});
        return {node.name};
      case LayerKind::kFlatten:
        set_int(add("Flatten", node.name, {first.name}), "axis", 1);
        return {node.name, true};
      case LayerKind::kAdd:
        add(node.inputs.size() == 2 ? "Add" : "Sum", node.name, images(node));
        return {node.name};
      case LayerKind::kScale:
        add("Mul", node.name, images(node));
        return {node.name};
      case LayerKind::kDropout:
        return dropout(node, first);
      case LayerKind::kConcat:
        set_int(add("Concat", node.name, images(node)), "axis", 1);
        return {node.name};
      case LayerKind::kAttention:
        add_attention(*this, node.layer, node.name, as_image(first).name,
                      model_.network.nodes()[node.inputs[0]].shape);
        return {node.name};
      case LayerKind::kQuantize:
        add_levels(*this, node, first.name);
        return {node.name, first.is_matrix};
      default:
        return channel_norm(node, first);
    }
    return first;
  }

  Names images(const Node& node) {
    Names names;
    for (NodeId input : node.inputs) names.push_back(as_image(edges_[input]).name);
    return names;
  }

  // Sets a convolution's or pooling's window. ONNX's average pooling ignores padding, as ours does.
  static Edge windowed(onnx::NodeProto& added, const Node& node) {
    const Layer& layer = node.layer;
    const std::int64_t above = padding_above(layer), beside = padding_beside(layer);
    set_ints(added, "kernel_shape", {height_of(layer), layer.kernel});
    set_ints(added, "pads", {above, beside, above, beside});
    set_ints(added, "strides", {layer.stride, layer.stride});
    return {node.name};
  }

  Edge conv(const Node& node, const Edge& input) {
    Names inputs{as_image(input).name};
    add_product_weights(inputs, node);
    onnx::NodeProto& added = add("Conv", node.name, inputs);
    set_int(added, "group", node.layer.groups);
    set_ints(added, "dilations", {node.layer.dilation, node.layer.dilation});
    return windowed(added, node);
  }

  Edge dense(const Node& node, const Edge& input) {
    Names inputs{as_matrix(input).name};
    add_product_weights(inputs, node);
    set_int(add("Gemm", node.name, inputs), "transB", 1);
    return {node.name, true};
  }

  Edge batch_norm(const Node& node, const Edge& input) {
    Names inputs{as_image(input).name};
    add_weights(inputs, 4);
    set_float(add("BatchNormalization", node.name, inputs), "epsilon", kOnnxEpsilon);
    return {node.name};
  }

  Edge channel_norm(const Node& node, const Edge& input) {
    const bool is_vector = node.shape.height * node.shape.width == 1;
    const std::string edge = is_vector ? as_matrix(input).name : as_channels_last(input);
    Names weights;
    add_weights(weights, parameters_of(node.layer, std::span(&node.shape, 1)).size());
    add_composite(*this, node.layer, node.name, edge, weights);
    if (is_vector) return {node.name, true};
    const std::string name = node.name + ".channels_first";
    set_ints(add("Transpose", name, {node.name}), "perm", kToChannelsFirst);
    return {name};
  }

  // Returns the name of the edge with channels last. REQUIRES: it is no matrix.
  std::string as_channels_last(const Edge& edge) {
    std::string name = edge.name + ".channels_last";
    if (converted_.insert(name).second)
      set_ints(add("Transpose", name, {edge.name}), "perm", kToChannelsLast);
    return name;
  }

  Edge activation(const Node& node, const Edge& input) {
    add_composite(*this, node.layer, node.name, input.name, {});
    return {node.name, input.is_matrix};
  }

  Edge dropout(const Node& node, const Edge& input) {
    const std::string ratio = constant(node.name + ".ratio", {}, onnx::TensorProto::DOUBLE,
                                       std::vector<double>{node.layer.rate});
    add("Dropout", node.name, {input.name, ratio});
    return {node.name, input.is_matrix};
  }

  const Model& model_;
  onnx::GraphProto& graph_;
  std::vector<Edge> edges_;          // by NodeId
  std::set<std::string> converted_;  // names of the conversions that exist already
  std::size_t next_weight_ = 0;      // weights come in the order of the nodes
};

void note(onnx::ModelProto& proto, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *proto.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

// Returns which input each column of a table is.
std::string columns_json(const Model& model) {
  const std::vector<std::string> names = table_input_names(*model.table, model.network);
  nlohmann::ordered_json columns = nlohmann::json::array();
  for (std::size_t i = 0; i < model.table->columns.size(); ++i) {
    const TableColumn& column = model.table->columns[i];
    columns.push_back({{"column", column.name},
                       {"input", names.size() == 1 ? names.front() : names[i]},
                       {"kind", name_of(column.kind)}});
    if (takes_doubles(*model.table, model.offsets, i)) columns.back()["type"] = "double";
  }
  return compact(columns);
}

void describe(const Model& model, onnx::ModelProto& proto) {
  for (const auto& [key, value] : metadata_of(model, model.is_raw)) note(proto, key, value);
  if (model.table && !model.is_raw) note(proto, "detol.columns", columns_json(model));
  proto.set_doc_string(
      fmt::format("Found by detol. Input: {}. Output '{}': {}. See "
                  "metadata_props detol.*.",
                  input_meaning(model), output_name(model), output_meaning(model)));
}

// Runs onnx's full check: the graph's form, then types and shapes of every edge.
Result<void> check(const onnx::ModelProto& proto) {
  try {
    onnx::checker::check_model(proto);
    onnx::ModelProto inferred = proto;
    constexpr int kStrict = 1;
    const onnx::ShapeInferenceOptions options(true, kStrict, true);
    onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& error) {
    std::string reason = error.what();
    std::ranges::replace(reason, '\n', ' ');
    return fail(ErrorCode::kExport, "onnx refuses the model: " + reason);
  }
  return {};
}

void add_operators(onnx::ModelProto& proto, const char* domain, int version) {
  onnx::OperatorSetIdProto& operators = *proto.add_opset_import();
  operators.set_domain(domain);
  operators.set_version(version);
}

std::size_t bytes_of_weights(const Weights& weights) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : weights) bytes += tensor.data.size() * sizeof(float);
  return bytes;
}

}  // namespace

Result<std::string> onnx_bytes(const Model& model) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();  // protobuf's limit
  constexpr std::size_t kGraph = std::size_t{64} << 20;                    // more than any graph
  if (bytes_of_weights(model.weights) > kMost - kGraph) {
    return fail(ErrorCode::kExport, fmt::format("{} bytes of weights; an ONNX file holds 2 GB",
                                                bytes_of_weights(model.weights)));
  }
  onnx::ModelProto proto;
  const Versions versions = versions_of(model.network);
  proto.set_ir_version(versions.ir);
  proto.set_producer_name("detol");
  add_operators(proto, "", versions.operators);
  if (model.table && !model.is_raw && has_categories(*model.table))
    add_operators(proto, kOnnxMlDomain, kOnnxMlOpset);
  proto.mutable_graph()->set_name("network");
  GraphWriter(model, *proto.mutable_graph()).write();
  describe(model, proto);
  DETOL_TRY(check(proto));
  return proto.SerializeAsString();
}

Result<void> compare_onnx(std::string_view bytes, const Model& model) {
  // Our own checks come first: onnx's checker is not made for untrusted graphs.
  DETOL_ASSIGN(const Model read, read_onnx(bytes));
  DETOL_TRY(compare_models(model, read));
  onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::kExport, "not an ONNX file, or a damaged one");
  return check(proto);
}

}  // namespace detol::inline exporting

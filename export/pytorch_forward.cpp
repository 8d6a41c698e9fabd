// As in ONNX, detol's vectors are N x C where a dense layer made them or reads them, and N x C x 1
// x 1 for layers of images: `.flatten(1)` and `[:, :, None, None]` convert one to the other.

#include "export/pytorch_forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "export/pytorch_layers.h"
#include "export/pytorch_names.h"

namespace detol::inline exporting {
namespace {

// Variable: a tensor of forward().
struct Variable {
  std::string name;
  bool is_matrix = false;  // N x C
};

std::string as_matrix(const Variable& variable) {
  return variable.is_matrix ? variable.name : variable.name + ".flatten(1)";
}

std::string as_image(const Variable& variable) {
  return variable.is_matrix ? variable.name + "[:, :, None, None]" : variable.name;
}

std::string size_of(const Variable& variable, const Shape& shape) {
  return variable.is_matrix ? std::to_string(shape.channels) : to_text(shape);
}

class Forward {
 public:
  explicit Forward(const Network& network)
      : network_(network), names_(attribute_names(network)), is_last_use_next_(next_alone()) {}

  TorchCode code() {
    const bool is_vector = reads_vectors(network_);
    variables_.push_back({is_last_use_next_[0] ? "x" : "normalised", is_vector});
    code_.forward = fmt::format("        {} = ({} - self.mean) / self.deviation\n",
                                variables_[0].name, is_vector ? "inputs.flatten(1)" : "inputs");
    for (NodeId id = 1; id < network_.nodes().size(); ++id) variables_.push_back(layer(id));
    code_.forward += fmt::format("        return {}\n", as_matrix(variables_.back()));
    return std::move(code_);
  }

 private:
  // Returns of each node whether the node after it reads it and no other does.
  std::vector<bool> next_alone() const {
    const std::span<const Node> nodes = network_.nodes();
    std::vector<bool> alone(nodes.size(), true);
    for (NodeId id = 1; id < nodes.size(); ++id) {
      for (const NodeId input : nodes[id].inputs) alone[input] = alone[input] && input + 1 == id;
    }
    return alone;
  }

  Variable layer(NodeId id) {
    const Node& node = network_.nodes()[id];
    const Variable& first = variables_[node.inputs[0]];
    if (row_of(node.layer.kind).role == LayerRole::kChannelNorm) return channel_norm(id, first);
    switch (node.layer.kind) {
      case LayerKind::kInput:
      case LayerKind::kFlatten:
        return assign(id, as_matrix(first), true);
      case LayerKind::kAdd:
        return join(id, " + ");
      case LayerKind::kScale:
        return join(id, " * ");
      case LayerKind::kConcat:
        return join(id, ", ");
      case LayerKind::kQuantize:
        return assign(id, quantized(node.layer, first.name), first.is_matrix);
      case LayerKind::kDense:
        return assign(id, called(id, as_matrix(first), true), true);
      case LayerKind::kBatchNorm:
      case LayerKind::kActivation:
      case LayerKind::kDropout:
        return assign(id, called(id, first.name, first.is_matrix), first.is_matrix);
      default:
        break;
    }
    return assign(id, called(id, as_image(first), false), false);
  }

  static std::string quantized(const Layer& layer, const std::string& input) {
    const std::string zero = fmt::format("{}", layer.zero_point),
                      scale = fmt::format("{}", layer.scale);
    return fmt::format("((({} / {}).round() + {}).clamp(0, 255) - {}) * {}", input, scale, zero,
                       zero, scale);
  }

  // PyTorch's norms of channels are over the last axis.
  Variable channel_norm(NodeId id, const Variable& input) {
    if (input.is_matrix) return assign(id, called(id, input.name, true), true);
    const std::string last = input.name + ".movedim(1, -1)";
    return assign(id, called(id, last, false) + ".movedim(-1, 1)", false);
  }

  // Adds, multiplies or concatenates the inputs: as matrices if all are.
  Variable join(NodeId id, std::string_view separator) {
    const std::vector<NodeId>& inputs = network_.nodes()[id].inputs;
    const bool is_matrix =
        std::ranges::all_of(inputs, [this](NodeId input) { return variables_[input].is_matrix; });
    std::string joined;
    for (const NodeId input : inputs) {
      if (!joined.empty()) joined += separator;
      joined += is_matrix ? variables_[input].name : as_image(variables_[input]);
    }
    const bool is_concat = network_.nodes()[id].layer.kind == LayerKind::kConcat;
    return assign(id, is_concat ? fmt::format("torch.cat([{}], 1)", joined) : joined, is_matrix);
  }

  // Makes the layer's module and returns its call.
  std::string called(NodeId id, const std::string& input, bool reads_matrix) {
    code_.init +=
        fmt::format("        self.{} = {}\n", names_[id], module_of(network_, id, reads_matrix));
    return fmt::format("self.{}({})", names_[id], input);
  }

  // Writes a line, with the size of an image's result where it changes.
  Variable assign(NodeId id, const std::string& expression, bool is_matrix) {
    const Node& node = network_.nodes()[id];
    Variable variable{is_last_use_next_[id] ? "x" : names_[id], is_matrix};
    if (expression == variable.name) return variable;  // to flatten what is flat
    code_.forward += fmt::format("        {} = {}", variable.name, expression);
    const std::string size = size_of(variable, node.shape);
    const NodeId before = node.inputs[0];
    if (size != size_of(variables_[before], network_.nodes()[before].shape))
      code_.forward += "  # " + size;
    code_.forward += '\n';
    return variable;
  }

  const Network& network_;
  const std::vector<std::string> names_;      // by NodeId
  const std::vector<bool> is_last_use_next_;  // likewise
  std::vector<Variable> variables_;           // likewise
  TorchCode code_;
};

}  // namespace

TorchCode torch_code(const Network& network) {
  return Forward(network).code();
}

}  // namespace detol::inline exporting

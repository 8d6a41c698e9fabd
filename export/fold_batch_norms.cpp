// A batch norm that directly follows a convolution or a dense layer is, at inference, a scale and a
// shift of each of its channels:
//
//   gamma (W x + b - mean) / sqrt(var + epsilon) + beta = (s W) x + s (b - mean) + beta,
//   s = gamma / sqrt(var + epsilon)
//
// which the layer's weights and bias take over. A layer that another node reads, too, keeps its
// own.

#include <cmath>
#include <map>

#include "export/export.h"
#include "trainer/backends/norm_constants.h"

namespace detol::inline exporting {
namespace {

using Tensors = std::map<std::string, Tensor>;

std::vector<int> uses_of(std::span<const Node> nodes) {
  std::vector<int> uses(nodes.size(), 0);
  for (const Node& node : nodes) {
    for (const NodeId input : node.inputs) ++uses[input];
  }
  return uses;
}

// Returns for each node the layer that it is folded into; for all but some batch norms itself.
std::vector<NodeId> targets_of(std::span<const Node> nodes) {
  const std::vector<int> uses = uses_of(nodes);
  std::vector<NodeId> targets;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    targets.push_back(id);
    if (nodes[id].layer.kind != LayerKind::kBatchNorm) continue;
    const NodeId before = nodes[id].inputs[0];
    const LayerKind kind = nodes[before].layer.kind;
    const bool has_weights = kind == LayerKind::kConv || kind == LayerKind::kDense;
    if (has_weights && uses[before] == 1) targets[id] = before;
  }
  return targets;
}

void fold(const std::string& norm, const std::string& layer, Tensors& tensors) {
  const auto of_norm = [&](const char* name) { return tensors.at(norm + "." + name).data; };
  const std::vector<float> gamma = of_norm("gamma"), beta = of_norm("beta"),
                           mean = of_norm("running_mean"), variance = of_norm("running_var");
  const std::size_t channels = gamma.size();
  std::vector<float>& weight = tensors.at(layer + ".weight").data;
  Tensor& bias = tensors[layer + ".bias"];
  if (bias.data.empty())
    bias = {layer + ".bias", {static_cast<std::int64_t>(channels)}, std::vector<float>(channels)};
  const std::size_t per_channel = weight.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const double scale = gamma[c] / std::sqrt(variance[c] + kNormEpsilon);
    for (std::size_t i = c * per_channel; i < (c + 1) * per_channel; ++i)
      weight[i] = static_cast<float>(scale * weight[i]);
    bias.data[c] = static_cast<float>(scale * (bias.data[c] - mean[c]) + beta[c]);
  }
}

// Returns the network of the nodes that are their own target; a target has a bias.
Result<Network> folded(std::span<const Node> nodes, const std::vector<NodeId>& targets) {
  std::vector<Layer> layers;
  for (const Node& node : nodes) layers.push_back(node.layer);
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (targets[id] != id) layers[targets[id]].bias = true;
  }
  NetworkBuilder builder(nodes[0].shape);
  std::vector<NodeId> made{builder.input()};
  for (NodeId id = 1; id < nodes.size(); ++id) {
    std::vector<NodeId> inputs;
    for (const NodeId input : nodes[id].inputs) inputs.push_back(made[input]);
    made.push_back(targets[id] == id ? builder.add(layers[id], std::move(inputs), nodes[id].name)
                                     : made[targets[id]]);
  }
  return builder.build(made.back());
}

// Returns the weights in the order of the network's parameters.
Weights in_order(const Network& network, Tensors tensors) {
  Weights weights;
  for (const NetworkParameter& parameter : network.parameters())
    weights.push_back(std::move(tensors.at(parameter.name)));
  return weights;
}

}  // namespace

Result<void> fold_batch_norms(Model& model) {
  const std::span<const Node> nodes = model.network.nodes();
  const std::vector<NodeId> targets = targets_of(nodes);
  Tensors tensors;
  for (const Tensor& tensor : model.weights) tensors.emplace(tensor.name, tensor);
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (targets[id] != id) fold(nodes[id].name, nodes[targets[id]].name, tensors);
  }
  DETOL_ASSIGN(model.network, folded(nodes, targets));
  model.weights = in_order(model.network, std::move(tensors));
  return {};
}

}  // namespace detol::inline exporting

#include "trainer/inheritance/aligned_network.h"

#include <algorithm>

namespace detol::inline trainer {

using enum LayerKind;

AlignedNetwork::AlignedNetwork(const Network& network)
    : nodes_(network.nodes()), consumers_(nodes_.size()), readers_(nodes_.size()) {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    by_name_.emplace(nodes_[id].name, id);
    for (NodeId input : nodes_[id].inputs) consumers_[input].push_back(id);
    rectified_.push_back(is_rectified_by_inputs(id));
    canonical_.push_back(canonical_of(id));
    for (NodeId input : nodes_[id].inputs) readers_[canonical_[input]].push_back(id);
  }
}

bool AlignedNetwork::is_depthwise(NodeId id) const {
  const Layer& layer = nodes_[id].layer;
  return layer.groups > 1 && layer.groups == layer.channels &&
         layer.groups == input_shape(id).channels;
}

std::vector<NodeId> AlignedNetwork::inputs_of(NodeId id) const {
  std::vector<NodeId> inputs;
  for (NodeId input : nodes_[id].inputs) inputs.push_back(canonical_[input]);
  if (nodes_[id].layer.kind == kAdd) std::ranges::sort(inputs);
  return inputs;
}

std::optional<NodeId> AlignedNetwork::called(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<NodeId> AlignedNetwork::find(const Layer& layer, std::vector<NodeId> inputs) const {
  if (layer.kind == kAdd) std::ranges::sort(inputs);
  for (NodeId id : readers_[inputs.front()]) {
    if (nodes_[id].layer == layer && inputs_of(id) == inputs) return canonical_[id];
  }
  return std::nullopt;
}

void AlignedNetwork::mark_ancestors(NodeId id, std::vector<bool>& marks) const {
  if (marks[id]) return;
  marks[id] = true;
  for (NodeId input : nodes_[id].inputs) mark_ancestors(input, marks);
}

bool AlignedNetwork::is_rectified_by_inputs(NodeId id) const {
  const Node& node = nodes_[id];
  if (node.layer.kind == kActivation) return row_of(node.layer.activation).is_never_negative;
  if (node.layer.kind == kInput || has_parameters(node.layer.kind)) return false;
  return std::ranges::all_of(node.inputs, [&](NodeId input) { return rectified_[input]; });
}

NodeId AlignedNetwork::canonical_of(NodeId id) const {
  const Node& node = nodes_[id];
  const bool is_transparent =
      node.layer.kind == kDropout || (is_relu(node.layer) && rectified_[node.inputs.front()]);
  if (is_transparent) return canonical_[node.inputs.front()];
  if (node.layer.kind == kInput || has_parameters(node.layer.kind)) return id;
  return find(node.layer, inputs_of(id)).value_or(id);
}

}  // namespace detol::inline trainer

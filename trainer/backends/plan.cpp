#include "trainer/backends/plan.h"

#include <algorithm>
#include <map>
#include <utility>

namespace detol::inline trainer {
namespace {

class Planner {
 public:
  explicit Planner(const Network& network)
      : nodes_(network.nodes()),
        same_(nodes_.size()),
        is_repeated_(nodes_.size()),
        consumers_(nodes_.size()),
        fused_(nodes_.size()) {
    find_repeated_activations();
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      if (same_[id] != id) continue;
      for (NodeId input : nodes_[id].inputs) consumers_[same_[input]].push_back(id);
    }
  }

  // Returns the units in order. A batch norm that is fused with an add runs in the add's place,
  // where its addend is ready.
  std::vector<Unit> units() {
    std::vector<Unit> units;
    for (NodeId id = 1; id < nodes_.size(); ++id) {
      if (same_[id] != id) units.push_back({.node = id, .output = id, .same_as = same_[id]});
      if (same_[id] != id) continue;
      if (nodes_[id].layer.kind == LayerKind::kBatchNorm && ends_in_add(id)) continue;
      if (!fused_[id] && !goes_into_pool(id)) units.push_back(unit_at(id));
    }
    return units;
  }

 private:
  void find_repeated_activations() {
    std::map<std::pair<NodeId, Activation>, NodeId> first;
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      same_[id] = id;
      const Layer& layer = nodes_[id].layer;
      if (layer.kind != LayerKind::kActivation) continue;
      const NodeId input = same_[nodes_[id].inputs[0]];
      const bool is_again = is_relu(id) && is_relu(input);
      same_[id] = is_again ? input : first.try_emplace({input, layer.activation}, id).first->second;
      if (same_[id] != id) is_repeated_[same_[id]] = true;
    }
  }

  // Returns the only consumer of a node, if there is exactly one and it is of that kind.
  std::optional<NodeId> only_consumer(NodeId id, LayerKind kind) const {
    if (consumers_[id].size() != 1) return std::nullopt;
    const NodeId consumer = consumers_[id].front();
    if (nodes_[consumer].layer.kind != kind) return std::nullopt;
    return consumer;
  }

  // Returns the batch norm that is fused with an add of two inputs: the later one, if both are.
  std::optional<NodeId> absorbed_by(NodeId add) const {
    if (nodes_[add].inputs.size() != 2) return std::nullopt;
    const NodeId later = std::max(nodes_[add].inputs[0], nodes_[add].inputs[1]);
    const NodeId earlier = std::min(nodes_[add].inputs[0], nodes_[add].inputs[1]);
    for (NodeId input : {later, earlier}) {
      const bool norm = nodes_[input].layer.kind == LayerKind::kBatchNorm;
      if (norm && only_consumer(input, LayerKind::kAdd)) return input;
    }
    return std::nullopt;
  }

  bool ends_in_add(NodeId norm) const {
    const auto add = only_consumer(norm, LayerKind::kAdd);
    return add && absorbed_by(*add) == norm;
  }

  bool is_relu(NodeId id) const {
    const Layer& layer = nodes_[id].layer;
    return layer.kind == LayerKind::kActivation && layer.activation == Activation::kRelu;
  }

  // Returns whether a node is a ReLU that is fused with a max pooling, not with a batch norm.
  bool goes_into_pool(NodeId id) const {
    return is_relu(id) && !fused_[id] && !is_repeated_[id] &&
           only_consumer(id, LayerKind::kMaxPool);
  }

  Unit unit_at(NodeId id) {
    Unit unit{id, id, std::nullopt, false};
    if (nodes_[id].layer.kind == LayerKind::kAdd) {
      if (const auto norm = absorbed_by(id)) {
        const std::vector<NodeId>& terms = nodes_[id].inputs;
        unit.node = *norm;
        unit.addend = terms[0] == *norm ? terms[1] : terms[0];
      }
    }
    const LayerKind kind = nodes_[unit.node].layer.kind;
    if (kind == LayerKind::kBatchNorm) take_in_relu(unit);
    if (kind == LayerKind::kMaxPool) unit.relu = goes_into_pool(nodes_[id].inputs[0]);
    return unit;
  }

  void take_in_relu(Unit& unit) {
    const auto next = only_consumer(unit.output, LayerKind::kActivation);
    if (!next || !is_relu(*next)) return;
    unit.relu = true;
    unit.output = *next;
    fused_[*next] = true;
  }

  std::span<const Node> nodes_;
  std::vector<NodeId> same_;                    // the node that has a node's value
  std::vector<bool> is_repeated_;               // whether another node has this one's value
  std::vector<std::vector<NodeId>> consumers_;  // of the nodes that are computed
  std::vector<bool> fused_;
};

}  // namespace

std::vector<Unit> plan_units(const Network& network) {
  return Planner(network).units();
}

}  // namespace detol::inline trainer

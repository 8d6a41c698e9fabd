// For every node of the child, in topological order, a claim says what its output is: the output of
// a node of the parent (with a map of channels), zero, or something else. Each kind of layer has a
// rule that makes the claim of its output from those of its inputs:
//
//   deepen   a new block that ends in an addition begins as the identity: its branch ends in zeros.
//            A new conv - bn - relu without one begins with an identity kernel and a batch norm
//            that undoes itself, as relu(relu(x)) = relu(x).
//   widen    new channels have new filters, which the next layer multiplies by zero.
//   kernel   a larger one is padded with zeros.
//   add      a new summand, or a new input of a concatenation, is zero or multiplied by zero.
//   gate     a new squeeze-excite gate is sigmoid(0) = 1/2, and the batch norm before it doubled.
//
//   parent stem - conv - head, child stem - conv - conv2 - head: conv2 claims conv's output, so the
//   head's input is what it was, and its claim is exact.
//
// Claims also tell what to copy where the function cannot be preserved: they are then marked as not
// exact, and a node that is matched by name alone begins a new one. A first pass, which begins new
// layers as identities, is dropped for one that begins them as usual if its result is not exact.

#include "trainer/inheritance/inheritance_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "trainer/inheritance/aligned_network.h"

namespace detol::inline trainer {
namespace {

using enum LayerKind;
using Start = NodeStart::Kind;

struct Claim {
  enum class Kind { kOther, kParent, kZero } kind = Kind::kOther;
  NodeId parent = 0;         // kParent: the node whose output it is
  ChannelMap channels = {};  // likewise
  bool is_exact = false;     // likewise: all of `channels` are equal to the parent's
  bool is_of(NodeId node) const { return kind == Kind::kParent && parent == node; }
};

ChannelMap first_channels(std::int64_t count, std::int64_t of) {
  ChannelMap map(static_cast<std::size_t>(count), kNewChannel);
  for (std::int64_t c = 0; c < std::min(count, of); ++c) map[static_cast<std::size_t>(c)] = c;
  return map;
}

// Returns whether each of the parent's channels is there exactly once.
bool has_each_once(const ChannelMap& map, std::int64_t channels) {
  std::vector<int> times(static_cast<std::size_t>(channels), 0);
  for (std::int64_t c : map) {
    if (c != kNewChannel) ++times[static_cast<std::size_t>(c)];
  }
  return std::ranges::all_of(times, [](int count) { return count == 1; });
}

class Planner {
 public:
  Planner(const AlignedNetwork& parent, const AlignedNetwork& child, bool begins_as_identity)
      : parent_(parent),
        child_(child),
        begins_as_identity_(begins_as_identity),
        in_branch_(child.size(), false),
        claims_(child.size()) {
    plan_.nodes.resize(child.size());
  }

  InheritancePlan plan() {
    for (NodeId id = 0; id < child_.size(); ++id) {
      if (child_.node(id).layer.kind == kAdd) close_new_branches(id);
    }
    claims_[0] = claim_of(0, first_channels(child_.channels(0), parent_.channels(0)),
                          child_.node(0).shape == parent_.node(0).shape);
    for (NodeId id = 1; id < child_.size(); ++id) claims_[id] = claim(id);
    const NodeId output = parent_.size() - 1;
    const Claim& last = claims_.back();
    plan_.preserves = last.is_of(parent_.canonical(output)) && last.is_exact &&
                      last.channels == first_channels(parent_.channels(output),
                                                      child_.channels(child_.size() - 1));
    return std::move(plan_);
  }

 private:
  static Claim claim_of(NodeId parent, ChannelMap channels, bool is_exact) {
    return {Claim::Kind::kParent, parent, std::move(channels), is_exact};
  }

  const Claim& input_claim(NodeId id) const { return claims_[child_.node(id).inputs.front()]; }

  // Returns the parent's node of the same name and kind whose parameters fit.
  std::optional<NodeId> match(NodeId id) const {
    const auto found = parent_.called(child_.node(id).name);
    if (!found) return std::nullopt;
    const Layer& ours = child_.node(id).layer;
    const Layer& theirs = parent_.node(*found).layer;
    if (ours.kind != theirs.kind || !has_parameters(ours.kind)) return std::nullopt;
    if (ours.kind == kDense) {
      const Shape &in = child_.input_shape(id), &before = parent_.input_shape(*found);
      return in.height == before.height && in.width == before.width ? found : std::nullopt;
    }
    if (ours.kind != kConv) return found;
    const bool is_alike = ours.stride == theirs.stride && ours.dilation == theirs.dilation;
    const bool are_plain = ours.groups == 1 && theirs.groups == 1;
    const bool are_depthwise = child_.is_depthwise(id) && parent_.is_depthwise(*found);
    return is_alike && (are_plain || are_depthwise) ? found : std::nullopt;
  }

  // Follows what leaves zeros zero from an input of an addition, or of a gate, back to the node
  // that may be set to zero, or doubled; nullopt if others see what is on the way.
  std::optional<NodeId> end_of_branch(NodeId id) const {
    while (child_.consumers(id).size() == 1) {
      const Node& node = child_.node(id);
      if (is_product(node.layer.kind) || node.layer.kind == kBatchNorm) return id;
      const bool keeps_zero =
          node.layer.kind == kDropout || node.layer.kind == kScale ||
          (node.layer.kind == kActivation && row_of(node.layer.activation).keeps_zero);
      if (!keeps_zero) return std::nullopt;
      const bool is_gated = node.layer.kind == kScale;
      id = node.inputs.front();
      if (is_gated) return ungated(id);
    }
    return std::nullopt;
  }

  // As end_of_branch, of the tensor that a gate sees, too.
  std::optional<NodeId> ungated(NodeId id) const {
    const Node& node = child_.node(id);
    if (is_product(node.layer.kind) || node.layer.kind == kBatchNorm) return id;
    if (is_relu(node.layer) || node.layer.kind == kDropout)
      return end_of_branch(node.inputs.front());
    return std::nullopt;
  }

  // Sets the ends of an addition's new branches to zero, as long as one summand remains.
  void close_new_branches(NodeId add) {
    const std::vector<NodeId>& inputs = child_.node(add).inputs;
    std::size_t remaining = inputs.size();
    for (std::size_t i = 0; i < inputs.size() && remaining > 1; ++i) {
      const auto end = end_of_branch(inputs[i]);
      if (!end || match(*end)) continue;
      plan_.nodes[*end].kind = Start::kZero;
      --remaining;
      std::vector<bool> of_others(child_.size(), false), of_branch(child_.size(), false);
      for (NodeId other : inputs) {
        if (other != inputs[i]) child_.mark_ancestors(other, of_others);
      }
      child_.mark_ancestors(inputs[i], of_branch);
      for (NodeId id = 0; id < child_.size(); ++id)
        in_branch_[id] = in_branch_[id] || (of_branch[id] && !of_others[id]);
    }
  }

  Claim claim(NodeId id) {
    const LayerKind kind = child_.node(id).layer.kind;
    if (is_product(kind)) return product(id);
    if (has_parameters(kind)) return norm(id);
    switch (kind) {
      case kActivation:
        return activation(id);
      case kDropout:
        return input_claim(id);
      case kAdd:
        return sum(id);
      case kConcat:
        return concatenation(id);
      case kScale:
        return gate(id);
      case kAttention:
        return attention(id);
      default:
        return without_parameters(id);
    }
  }

  Claim product(NodeId id) {
    if (plan_.nodes[id].kind == Start::kZero) return {Claim::Kind::kZero};
    if (const auto from = match(id)) return copied_product(id, *from);
    const Layer& layer = child_.node(id).layer;
    const Claim& in = input_claim(id);
    const Shape& shape = child_.input_shape(id);
    const bool fits = layer.stride == 1 && child_.channels(id) >= shape.channels &&
                      (layer.groups == 1 || child_.is_depthwise(id)) &&
                      (layer.kind == kConv || shape.height * shape.width == 1);
    const bool is_identity =
        begins_as_identity_ && fits && in.kind == Claim::Kind::kParent && !in_branch_[id];
    if (!is_identity) return {};
    plan_.nodes[id].kind = Start::kIdentity;
    Claim out = in;
    out.channels.resize(static_cast<std::size_t>(child_.channels(id)), kNewChannel);
    return out;
  }

  Claim copied_product(NodeId id, NodeId from) {
    const Layer &ours = child_.node(id).layer, &theirs = parent_.node(from).layer;
    const std::int64_t inputs = parent_.input_shape(from).channels;
    const Claim& in = input_claim(id);
    const bool is_fed_alike = in.is_of(parent_.input(from));
    NodeStart& start = plan_.nodes[id];
    start.kind = Start::kCopied;
    start.parent = from;
    start.inputs =
        is_fed_alike ? in.channels : first_channels(child_.input_shape(id).channels, inputs);
    start.outputs =
        child_.is_depthwise(id) ? start.inputs : first_channels(ours.channels, theirs.channels);
    const bool is_exact = is_fed_alike && in.is_exact && has_each_once(start.inputs, inputs) &&
                          has_each_once(start.outputs, theirs.channels) &&
                          (ours.bias || !theirs.bias) && ours.kernel >= theirs.kernel &&
                          height_of(ours) >= height_of(theirs);
    return claim_of(from, start.outputs, is_exact);
  }

  Claim norm(NodeId id) {
    if (plan_.nodes[id].kind == Start::kZero) return {Claim::Kind::kZero};
    const Claim& in = input_claim(id);
    if (in.kind != Claim::Kind::kParent) return {};
    NodeStart& start = plan_.nodes[id];
    const bool is_batch_norm = child_.node(id).layer.kind == kBatchNorm;
    if (const auto from = match(id); from && in.is_of(parent_.input(*from))) {
      start.kind = Start::kCopied;
      start.parent = *from;
      start.outputs = in.channels;
      const bool has_same_channels =
          in.channels == first_channels(child_.channels(id), parent_.channels(*from)) &&
          child_.channels(id) == parent_.channels(*from);
      return claim_of(*from, in.channels, in.is_exact && (is_batch_norm || has_same_channels));
    }
    if (!begins_as_identity_ || !is_batch_norm || in_branch_[id]) return {};
    start.kind = Start::kIdentity;
    return in;
  }

  Claim activation(NodeId id) const {
    const Layer& layer = child_.node(id).layer;
    const Claim& in = input_claim(id);
    if (in.kind == Claim::Kind::kOther) return {};
    if (in.kind == Claim::Kind::kZero) return row_of(layer.activation).keeps_zero ? in : Claim{};
    if (is_relu(layer) && parent_.is_rectified(in.parent)) return in;
    if (const auto same = parent_.find(layer, {in.parent}))
      return claim_of(*same, in.channels, in.is_exact);
    for (NodeId other = 1; other < parent_.size(); ++other) {
      if (parent_.node(other).layer.kind == kActivation && parent_.input(other) == in.parent)
        return claim_of(parent_.canonical(other), in.channels, false);
    }
    return claim_of(in.parent, in.channels, false);
  }

  // Pools and flatten.
  Claim without_parameters(NodeId id) const {
    const Claim& in = input_claim(id);
    if (in.kind != Claim::Kind::kParent) return in;
    const Node& node = child_.node(id);
    const auto same = parent_.find(node.layer, {in.parent});
    if (!same) return {};
    if (node.layer.kind != kFlatten) return claim_of(*same, in.channels, in.is_exact);
    const Shape &ours = child_.input_shape(id), &theirs = parent_.node(in.parent).shape;
    if (ours.height != theirs.height || ours.width != theirs.width) return {};
    ChannelMap flat;
    for (const std::int64_t channel : in.channels) {
      for (std::int64_t at = 0; at < ours.height * ours.width; ++at)
        flat.push_back(channel == kNewChannel ? channel : channel * ours.height * ours.width + at);
    }
    return claim_of(*same, std::move(flat), in.is_exact);
  }

  // Of heads that are the parent's; heads that are wider, or more, are others.
  Claim attention(NodeId id) const {
    const Claim& in = input_claim(id);
    if (in.kind != Claim::Kind::kParent) return {};
    const auto same = parent_.find(child_.node(id).layer, {in.parent});
    const std::int64_t ours = child_.input_shape(id).channels, theirs = parent_.channels(in.parent);
    if (!same || ours != theirs || in.channels != first_channels(ours, theirs)) return {};
    return claim_of(*same, first_channels(child_.channels(id), child_.channels(id)), in.is_exact);
  }

  Claim sum(NodeId id) const {
    std::vector<NodeId> live;
    const Claim* first = nullptr;
    bool is_exact = true;
    for (NodeId input : child_.node(id).inputs) {
      const Claim& in = claims_[input];
      if (in.kind == Claim::Kind::kZero) continue;
      if (in.kind == Claim::Kind::kOther) return of_same_name(id);
      if (first == nullptr) first = &in;
      is_exact = is_exact && in.is_exact && in.channels == first->channels;
      live.push_back(in.parent);
    }
    if (live.empty()) return {Claim::Kind::kZero};
    if (live.size() == 1) return *first;
    const auto same = parent_.find(child_.node(id).layer, live);
    return same ? claim_of(*same, first->channels, is_exact) : of_same_name(id);
  }

  // Claims, not exactly, what the parent's node of the same name and kind gives.
  Claim of_same_name(NodeId id) const {
    const auto found = parent_.called(child_.node(id).name);
    if (!found || parent_.node(*found).layer.kind != child_.node(id).layer.kind) return {};
    return claim_of(parent_.canonical(*found),
                    first_channels(child_.channels(id), parent_.channels(*found)), false);
  }

  Claim concatenation(NodeId id) const {
    for (NodeId other = 1; other < parent_.size(); ++other) {
      if (parent_.node(other).layer.kind != kConcat) continue;
      if (auto claim = concatenation_like(id, other)) return *std::move(claim);
    }
    // The parent had one of the inputs alone: the deepest that it has.
    const Claim* best = nullptr;
    for (NodeId input : child_.node(id).inputs) {
      const Claim& in = claims_[input];
      if (in.kind == Claim::Kind::kParent && (best == nullptr || in.parent > best->parent))
        best = &in;
    }
    if (best == nullptr) return {};
    Claim out = claim_of(best->parent, {}, best->is_exact);
    for (NodeId input : child_.node(id).inputs)
      append(out.channels, &claims_[input] == best ? best : nullptr, child_.channels(input), 0);
    return out;
  }

  // Returns the claim to be `other`, each of whose inputs is an input of this concatenation.
  std::optional<Claim> concatenation_like(NodeId id, NodeId other) const {
    std::vector<NodeId> wanted = parent_.inputs_of(other);
    Claim out = claim_of(parent_.canonical(other), {}, true);
    std::size_t found = 0;
    for (NodeId input : child_.node(id).inputs) {
      const Claim& in = claims_[input];
      const bool may_be = in.kind == Claim::Kind::kParent;
      const auto at = may_be ? std::ranges::find(wanted, in.parent) : wanted.end();
      if (at == wanted.end()) {
        append(out.channels, nullptr, child_.channels(input), 0);
        continue;
      }
      const auto place = static_cast<std::size_t>(at - wanted.begin());
      std::int64_t offset = 0;
      for (std::size_t before = 0; before < place; ++before)
        offset += parent_.channels(parent_.node(other).inputs[before]);
      append(out.channels, &in, child_.channels(input), offset);
      out.is_exact = out.is_exact && in.is_exact;
      wanted[place] = parent_.size();  // taken
      ++found;
    }
    return found == wanted.size() ? std::optional(std::move(out)) : std::nullopt;
  }

  static void append(ChannelMap& map, const Claim* claim, std::int64_t count, std::int64_t offset) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(count); ++c) {
      const std::int64_t channel = claim == nullptr ? kNewChannel : claim->channels[c];
      map.push_back(channel == kNewChannel ? channel : channel + offset);
    }
  }

  Claim gate(NodeId id) {
    const Claim &in = input_claim(id), &by = claims_[child_.node(id).inputs[1]];
    if (in.kind != Claim::Kind::kParent) return in;
    if (by.kind == Claim::Kind::kParent) {
      if (const auto same = parent_.find(child_.node(id).layer, {in.parent, by.parent}))
        return claim_of(*same, in.channels,
                        in.is_exact && by.is_exact && in.channels == by.channels);
    }
    return claim_of(in.parent, in.channels, in.is_exact && opens_halfway(id));
  }

  // Makes a new gate 1/2 and doubles what it is applied to, if both can be.
  bool opens_halfway(NodeId id) {
    const Node& sigmoid = child_.node(child_.node(id).inputs[1]);
    const bool is_sigmoid =
        sigmoid.layer.kind == kActivation && sigmoid.layer.activation == Activation::kSigmoid;
    if (!begins_as_identity_ || !is_sigmoid) return false;
    const NodeId expand = sigmoid.inputs.front(), gated = child_.node(id).inputs.front();
    const auto doubled = ungated(gated);
    std::vector<bool> in_gate(child_.size(), false);
    child_.mark_ancestors(child_.node(id).inputs[1], in_gate);
    const bool is_seen_here_alone = std::ranges::all_of(
        child_.consumers(gated), [&](NodeId to) { return to == id || in_gate[to]; });
    const bool can = doubled && is_seen_here_alone && is_product(child_.node(expand).layer.kind) &&
                     child_.node(*doubled).layer.kind == kBatchNorm &&
                     child_.consumers(expand).size() == 1 && !match(expand);
    if (!can) return false;
    plan_.nodes[expand].kind = Start::kZero;
    plan_.nodes[*doubled].is_doubled = true;
    return true;
  }

  const AlignedNetwork& parent_;
  const AlignedNetwork& child_;
  const bool begins_as_identity_;
  InheritancePlan plan_;
  std::vector<bool> in_branch_;  // the node is of a new branch that ends in zeros
  std::vector<Claim> claims_;
};

}  // namespace

InheritancePlan plan_inheritance(const Network& parent, const Network& child) {
  const AlignedNetwork before(parent), after(child);
  InheritancePlan plan = Planner(before, after, true).plan();
  return plan.preserves ? plan : Planner(before, after, false).plan();
}

}  // namespace detol::inline trainer

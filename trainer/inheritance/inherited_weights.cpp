#include "trainer/inheritance/inherited_weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "trainer/backends/norm_constants.h"
#include "trainer/inheritance/aligned_network.h"
#include "trainer/inheritance/channel_moments.h"

namespace detol::inline trainer {
namespace {

using Start = NodeStart::Kind;

// NodeTensors gives the tensors of one node by their short names.
class NodeTensors {
 public:
  explicit NodeTensors(const Network& network) : first_(network.nodes().size() + 1, 0) {
    for (const NetworkParameter& parameter : network.parameters()) {
      names_.push_back(parameter.spec.name);
      ++first_[parameter.node + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  }

  // Returns the place of a node's tensor in Network::parameters(); names_.size() if it has none.
  std::size_t place(NodeId node, std::string_view name) const {
    for (std::size_t i = first_[node]; i < first_[node + 1]; ++i) {
      if (names_[i] == name) return i;
    }
    return names_.size();
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<std::size_t> first_;
};

// Channel c of `to` gets the value of channel map[c] of `from`, or keeps its own.
void copy_channels(const ChannelMap& map, const std::vector<float>& from, std::vector<float>& to) {
  for (std::size_t c = 0; c < map.size(); ++c) {
    if (map[c] != kNewChannel) to[c] = from[static_cast<std::size_t>(map[c])];
  }
}

// Window: one filter of one input channel, rows x columns.
struct Window {
  std::int64_t rows, columns;
  std::int64_t size() const { return rows * columns; }
};

// Copies a window into the middle of another, whose rest becomes zero.
void copy_window(const float* from, const Window& theirs, float* to, const Window& ours) {
  const std::int64_t down = (ours.rows - theirs.rows) / 2;
  const std::int64_t right = (ours.columns - theirs.columns) / 2;
  for (std::int64_t row = 0; row < ours.rows; ++row) {
    for (std::int64_t column = 0; column < ours.columns; ++column) {
      const std::int64_t r = row - down, c = column - right;
      const bool is_inside = r >= 0 && r < theirs.rows && c >= 0 && c < theirs.columns;
      to[row * ours.columns + column] = is_inside ? from[r * theirs.columns + c] : 0.0f;
    }
  }
}

class Filler {
 public:
  Filler(const InheritancePlan& plan, const Network& parent, const Weights& from,
         const Network& child, Weights& to)
      : plan_(plan),
        parent_(parent),
        child_(child),
        theirs_(parent),
        ours_(child),
        from_(from),
        to_(to) {}

  void fill() {
    std::vector<ChannelMoments> moments;
    for (NodeId id = 0; id < child_.nodes().size(); ++id) {
      std::vector<const ChannelMoments*> inputs;
      for (NodeId input : child_.nodes()[id].inputs) inputs.push_back(&moments[input]);
      start(id, inputs);
      moments.push_back(moments_after(
          child_.nodes()[id], inputs,
          {numbers(id, "weight"), numbers(id, "bias"), numbers(id, "gamma"), numbers(id, "beta")}));
    }
  }

 private:
  void start(NodeId id, const std::vector<const ChannelMoments*>& inputs) {
    const NodeStart& start = plan_.nodes[id];
    const bool is_product_node = is_product(child_.nodes()[id].layer.kind);
    switch (start.kind) {
      case Start::kUsual:
        break;
      case Start::kCopied:
        is_product_node ? copy_product(id, start) : copy_norm(id, start);
        break;
      case Start::kIdentity:
        is_product_node ? pass_through(id) : undo(id, *inputs.front());
        break;
      case Start::kZero:
        for (std::string_view name : {"weight", "bias", "gamma", "beta"}) {
          if (auto* tensor = our(id, name)) std::ranges::fill(*tensor, 0.0f);
        }
        break;
    }
    if (!start.is_doubled) return;
    for (std::string_view name : {"gamma", "beta"}) {
      for (float& value : *our(id, name)) value *= 2;
    }
  }

  void copy_norm(NodeId id, const NodeStart& start) {
    for (std::string_view name : {"gamma", "beta", "running_mean", "running_var"}) {
      if (auto* tensor = our(id, name))
        copy_channels(start.outputs, *their(start.parent, name), *tensor);
    }
  }

  void copy_product(NodeId id, const NodeStart& start) {
    const std::vector<float>& from = *their(start.parent, "weight");
    std::vector<float>& to = *our(id, "weight");
    const Window ours = window_of(child_, id), theirs = window_of(parent_, start.parent);
    const bool is_depthwise = child_.nodes()[id].layer.groups > 1;
    const std::size_t inputs = is_depthwise ? 1 : start.inputs.size();
    const std::int64_t their_inputs =
        is_depthwise ? 1 : parent_.input_shapes(start.parent).front().channels;
    for (std::size_t o = 0; o < start.outputs.size(); ++o) {
      if (start.outputs[o] == kNewChannel) continue;  // random
      for (std::size_t i = 0; i < inputs; ++i) {
        float* window = to.data() + static_cast<std::int64_t>(o * inputs + i) * ours.size();
        const std::int64_t input = is_depthwise ? 0 : start.inputs[i];
        if (input == kNewChannel) {
          std::fill_n(window, ours.size(), 0.0f);
          continue;
        }
        const std::int64_t at = (start.outputs[o] * their_inputs + input) * theirs.size();
        copy_window(from.data() + at, theirs, window, ours);
      }
    }
    auto* bias = our(id, "bias");
    const auto* before = their(start.parent, "bias");
    if (bias != nullptr && before != nullptr) copy_channels(start.outputs, *before, *bias);
  }

  // Makes each of the first outputs the input of the same number.
  void pass_through(NodeId id) {
    std::vector<float>& to = *our(id, "weight");
    const Window window = window_of(child_, id);
    const bool is_depthwise = child_.nodes()[id].layer.groups > 1;
    const std::int64_t channels = child_.input_shapes(id).front().channels;
    const std::int64_t inputs = is_depthwise ? 1 : channels;
    std::fill_n(to.begin(), channels * inputs * window.size(), 0.0f);
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t at = (c * inputs + (is_depthwise ? 0 : c)) * window.size();
      to[static_cast<std::size_t>(at + window.size() / 2)] = 1;
    }
  }

  // Makes a batch norm restore the moments that its input is estimated to have.
  void undo(NodeId id, const ChannelMoments& in) {
    for (std::size_t c = 0; c < in.mean.size(); ++c) {
      const float mean = static_cast<float>(in.mean[c]);
      const float variance = std::max(static_cast<float>(in.variance[c]), 1e-3f);
      (*our(id, "gamma"))[c] = std::sqrt(variance + static_cast<float>(kNormEpsilon));
      (*our(id, "running_var"))[c] = variance;
      (*our(id, "beta"))[c] = (*our(id, "running_mean"))[c] = mean;
    }
  }

  // Returns the window of one input channel; of a dense layer the image that it takes.
  static Window window_of(const Network& network, NodeId id) {
    const Layer& layer = network.nodes()[id].layer;
    if (layer.kind == LayerKind::kConv) return {height_of(layer), layer.kernel};
    const Shape input = network.input_shapes(id).front();
    return {input.height, input.width};
  }

  std::span<const float> numbers(NodeId id, std::string_view name) {
    const auto* tensor = our(id, name);
    return tensor == nullptr ? std::span<const float>() : std::span<const float>(*tensor);
  }
  std::vector<float>* our(NodeId id, std::string_view name) {
    const std::size_t place = ours_.place(id, name);
    return place < to_.size() ? &to_[place].data : nullptr;
  }
  const std::vector<float>* their(NodeId id, std::string_view name) const {
    const std::size_t place = theirs_.place(id, name);
    return place < from_.size() ? &from_[place].data : nullptr;
  }

  const InheritancePlan& plan_;
  const Network& parent_;
  const Network& child_;
  const NodeTensors theirs_, ours_;
  const Weights& from_;
  Weights& to_;
};

}  // namespace

Weights inherited_weights(const InheritancePlan& plan, const Network& parent,
                          const Weights& weights, const Network& child, std::uint64_t seed) {
  Weights begun = initial_weights(child, seed);
  Filler(plan, parent, weights, child, begun).fill();
  return begun;
}

double inherited_share(const InheritancePlan& plan, const Network& child) {
  const auto share_of = [](const ChannelMap& map) {
    const auto fresh = std::ranges::count(map, kNewChannel);
    return 1 - static_cast<double>(fresh) / static_cast<double>(map.size());
  };
  double all = 0, copied = 0;
  for (const NetworkParameter& parameter : child.parameters()) {
    if (!parameter.spec.trainable) continue;
    const auto elements = static_cast<double>(parameter.spec.elements());
    all += elements;
    const NodeStart& start = plan.nodes[parameter.node];
    if (start.kind != Start::kCopied) continue;
    const bool has_inputs =
        parameter.spec.name == "weight" && child.nodes()[parameter.node].layer.groups == 1;
    copied += elements * share_of(start.outputs) * (has_inputs ? share_of(start.inputs) : 1.0);
  }
  return all > 0 ? copied / all : 0;
}

}  // namespace detol::inline trainer

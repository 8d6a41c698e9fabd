#include "trainer/pruning/channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace detol::inline trainer {
namespace {

// DisjointSets: classes of numbers that are merged one by one (union-find with path halving).
class DisjointSets {
 public:
  int add() {
    parents_.push_back(static_cast<int>(parents_.size()));
    return parents_.back();
  }
  int find(int one) {
    auto& parents = parents_;
    while (parents[at(one)] != one) one = parents[at(one)] = parents[at(parents[at(one)])];
    return one;
  }
  void merge(int one, int other) { parents_[at(find(one))] = find(other); }

 private:
  static std::size_t at(int one) { return static_cast<std::size_t>(one); }
  std::vector<int> parents_;
};

// Returns the inputs of each group of a convolution.
std::int64_t inputs_of_group(const Network& network, NodeId node) {
  const Node& conv = network.nodes()[node];
  return network.nodes()[conv.inputs.front()].shape.channels / conv.layer.groups;
}

// Returns the elements that a layer with weights reads, each as what `of_channels` says of its
// channel.
std::vector<int> elements_read(const Network& network, NodeId node,
                               const std::vector<std::vector<int>>& of_channels) {
  const NodeId input = network.nodes()[node].inputs.front();
  if (network.nodes()[node].layer.kind != LayerKind::kDense) return of_channels[input];
  const Shape& shape = network.nodes()[input].shape;
  std::vector<int> elements;
  for (int channel : of_channels[input])
    elements.insert(elements.end(), static_cast<std::size_t>(shape.height * shape.width), channel);
  return elements;
}

// Ties the channels of a network, node by node.
class Tying {
 public:
  explicit Tying(const Network& network) : network_(network) {
    for (NodeId node = 0; node < network.nodes().size(); ++node)
      channels_.push_back(channels_of(node));
  }

  ChannelClasses classes() {
    ChannelClasses classes;
    std::map<int, int> numbers;  // of the roots
    for (const auto& channels : channels_) {
      std::vector<int>& own = classes.of_outputs.emplace_back();
      for (int channel : channels)
        own.push_back(numbers.try_emplace(sets_.find(channel), numbers.size()).first->second);
    }
    classes.is_fixed.assign(numbers.size(), false);
    for (const auto* kept : {&classes.of_outputs.front(), &classes.of_outputs.back()}) {
      for (int one : *kept) classes.is_fixed[static_cast<std::size_t>(one)] = true;
    }
    for (int channel : fixed_)
      classes.is_fixed[static_cast<std::size_t>(numbers.at(sets_.find(channel)))] = true;
    set_groups(classes);
    return classes;
  }

 private:
  std::vector<int> new_channels(std::int64_t count) {
    std::vector<int> channels;
    for (std::int64_t i = 0; i < count; ++i) channels.push_back(sets_.add());
    return channels;
  }

  std::vector<int> channels_of(NodeId node) {
    const Node& own = network_.nodes()[node];
    switch (own.layer.kind) {
      case LayerKind::kInput:
      case LayerKind::kDense:
        return new_channels(own.shape.channels);
      case LayerKind::kConv:
        return of_convolution(node);
      case LayerKind::kFlatten: {
        const Shape& shape = network_.nodes()[own.inputs.front()].shape;
        std::vector<int> elements;
        for (int channel : channels_[own.inputs.front()])
          elements.insert(elements.end(), static_cast<std::size_t>(shape.height * shape.width),
                          channel);
        return elements;
      }
      case LayerKind::kConcat: {
        std::vector<int> all;
        for (NodeId input : own.inputs)
          all.insert(all.end(), channels_[input].begin(), channels_[input].end());
        return all;
      }
      case LayerKind::kAttention: {
        // Heads are as wide as they are: what they read stays, and what they write.
        const std::vector<int>& read = channels_[own.inputs.front()];
        fixed_.insert(fixed_.end(), read.begin(), read.end());
        std::vector<int> made = new_channels(own.shape.channels);
        fixed_.insert(fixed_.end(), made.begin(), made.end());
        return made;
      }
      default:
        return tied_inputs(own);
    }
  }

  // Of an element by element layer: its channels are those of its inputs, of which all are one.
  std::vector<int> tied_inputs(const Node& own) {
    const std::vector<int>& first = channels_[own.inputs.front()];
    for (NodeId input : own.inputs) {
      for (std::size_t i = 0; i < first.size(); ++i) sets_.merge(channels_[input][i], first[i]);
    }
    return first;
  }

  std::vector<int> of_convolution(NodeId node) {
    const Node& own = network_.nodes()[node];
    const std::int64_t groups = own.layer.groups, outputs = own.shape.channels;
    if (groups == 1) return new_channels(outputs);
    const std::vector<int>& inputs = channels_[own.inputs.front()];
    const std::int64_t read = inputs_of_group(network_, node);
    std::vector<int> channels;
    if (read == 1) {  // depthwise
      for (std::int64_t i = 0; i < outputs; ++i)
        channels.push_back(inputs[static_cast<std::size_t>(i / (outputs / groups))]);
      return channels;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
      sets_.merge(inputs[i], inputs[i % static_cast<std::size_t>(read)]);
    const std::vector<int> one_group = new_channels(outputs / groups);
    for (std::int64_t i = 0; i < groups; ++i)
      channels.insert(channels.end(), one_group.begin(), one_group.end());
    return channels;
  }

  void set_groups(ChannelClasses& classes) const {
    std::vector<std::vector<NodeId>> makers(classes.is_fixed.size());
    for (NodeId node = 0; node < network_.nodes().size(); ++node) {
      const LayerKind kind = network_.nodes()[node].layer.kind;
      if (row_of(kind).role != LayerRole::kProduct) continue;
      for (int one : classes.of_outputs[node]) {
        auto& own = makers[static_cast<std::size_t>(one)];
        if (own.empty() || own.back() != node) own.push_back(node);
      }
    }
    std::map<std::vector<NodeId>, int> groups;
    for (const auto& own : makers)
      classes.layer_group.push_back(groups.try_emplace(own, groups.size()).first->second);
  }

  const Network& network_;
  DisjointSets sets_;
  std::vector<int> fixed_;                  // members whose class stays
  std::vector<std::vector<int>> channels_;  // of each node, as members of the sets
};

// Returns the positions of the elements whose class stays.
std::vector<std::size_t> kept(const std::vector<int>& elements, const std::vector<bool>& removed) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!removed[static_cast<std::size_t>(elements[i])]) positions.push_back(i);
  }
  return positions;
}

// Returns the tensor with the given rows (first extent) and columns (second; of a vector none).
Tensor part_of(const Tensor& tensor, const std::vector<std::size_t>& rows,
               const std::vector<std::size_t>& columns) {
  Tensor part{.name = tensor.name, .shape = tensor.shape, .data = {}};
  part.shape[0] = static_cast<std::int64_t>(rows.size());
  const bool is_vector = tensor.shape.size() == 1;
  if (!is_vector) part.shape[1] = static_cast<std::int64_t>(columns.size());
  const auto all_columns = static_cast<std::size_t>(is_vector ? 1 : tensor.shape[1]);
  const std::size_t size =
      tensor.data.size() / (static_cast<std::size_t>(tensor.shape[0]) * all_columns);
  for (std::size_t row : rows) {
    for (std::size_t column : columns) {
      const auto first =
          tensor.data.begin() + static_cast<std::ptrdiff_t>((row * all_columns + column) * size);
      part.data.insert(part.data.end(), first, first + static_cast<std::ptrdiff_t>(size));
    }
  }
  return part;
}

// Returns the second positions of a weight that stay: the inputs of a dense layer, or of one group
// of a convolution.
std::vector<std::size_t> kept_inputs(const Network& network, const ChannelClasses& classes,
                                     NodeId node, const std::vector<bool>& removed) {
  std::vector<int> read = classes_read_by(network, classes, node);
  if (network.nodes()[node].layer.kind == LayerKind::kConv) {
    const std::int64_t count = inputs_of_group(network, node);
    if (network.nodes()[node].layer.groups > 1 && count == 1) return {0};
    read.resize(static_cast<std::size_t>(count));
  }
  return kept(read, removed);
}

}  // namespace

ChannelClasses channel_classes(const Network& network) {
  return Tying(network).classes();
}

std::vector<int> classes_read_by(const Network& network, const ChannelClasses& classes,
                                 NodeId node) {
  return elements_read(network, node, classes.of_outputs);
}

Result<Network> without_channels(const Network& network, const ChannelClasses& classes,
                                 const std::vector<bool>& removed) {
  NetworkBuilder builder(network.input_shape());
  std::vector<NodeId> ids = {builder.input()};
  for (NodeId node = 1; node < network.nodes().size(); ++node) {
    const Node& own = network.nodes()[node];
    const auto left = static_cast<std::int64_t>(kept(classes.of_outputs[node], removed).size());
    if (left == 0)
      return fail(ErrorCode::kInput, fmt::format("layer {} would have no channel", own.name));
    Layer layer = own.layer;
    if (layer.channels > 0) layer.channels = left;
    const bool is_depthwise =
        layer.kind == LayerKind::kConv && layer.groups > 1 && inputs_of_group(network, node) == 1;
    if (is_depthwise) layer.groups = builder.shape(ids[own.inputs.front()]).channels;
    std::vector<NodeId> inputs;
    for (NodeId input : own.inputs) inputs.push_back(ids[input]);
    ids.push_back(builder.add(layer, std::move(inputs), own.name));
  }
  return builder.build(ids.back());
}

Weights weights_without(const Network& network, const Weights& weights,
                        const ChannelClasses& classes, const std::vector<bool>& removed) {
  Weights left;
  const std::vector<NetworkParameter> parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const NodeId node = parameters[i].node;
    const bool has_inputs = weights[i].shape.size() > 1;
    left.push_back(part_of(
        weights[i], kept(classes.of_outputs[node], removed),
        has_inputs ? kept_inputs(network, classes, node, removed) : std::vector<std::size_t>{0}));
  }
  return left;
}

}  // namespace detol::inline trainer

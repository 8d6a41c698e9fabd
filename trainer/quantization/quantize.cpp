#include "trainer/quantization/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "trainer/predict.h"

namespace detol::inline trainer {
namespace {

constexpr float kLevels = 127;              // of a weight, on either side of zero
constexpr int kLowest = 0, kHighest = 255;  // of a tensor
constexpr std::int64_t kMostObserved = std::int64_t{1} << 24;  // numbers at a time

bool has_weights(LayerKind kind) {
  return row_of(kind).role == LayerRole::kProduct;
}

// Returns the nodes whose outputs are quantised.
std::vector<NodeId> quantized_nodes(const Network& network) {
  const std::span<const Node> nodes = network.nodes();
  std::vector<bool> is_read(nodes.size()), is_joined(nodes.size(), true);
  for (const Node& node : nodes) {
    for (NodeId input : node.inputs) {
      is_read[input] = true;
      if (row_of(node.layer.kind).levels != Levels::kJoined) is_joined[input] = false;
    }
  }
  std::vector<NodeId> quantized;
  for (NodeId node = 0; node < nodes.size(); ++node) {
    const bool is_float = is_joined[node] || row_of(nodes[node].layer.kind).levels == Levels::kKept;
    if (is_read[node] && !is_float) quantized.push_back(node);
  }
  return quantized;
}

struct Interval {
  float low = 0, high = 0;  // contains zero, so that zero has a level
};

// Returns a network whose output is the outputs of the nodes, one after the other.
Result<Network> observing(const Network& network, const std::vector<NodeId>& observed) {
  NetworkBuilder builder(network.input_shape());
  std::vector<NodeId> ids = {builder.input()}, flat;
  for (NodeId node = 1; node < network.nodes().size(); ++node) {
    const Node& own = network.nodes()[node];
    std::vector<NodeId> inputs;
    for (NodeId input : own.inputs) inputs.push_back(ids[input]);
    ids.push_back(builder.add(own.layer, std::move(inputs), own.name));
  }
  for (NodeId node : observed)
    flat.push_back(builder.add({.kind = LayerKind::kFlatten}, {ids[node]},
                               network.nodes()[node].name + ".flat"));
  const NodeId last = flat.size() == 1
                          ? flat.front()
                          : builder.add({.kind = LayerKind::kConcat}, flat, "observed.all");
  return builder.build(last);
}

// Returns the range of each node's output over the images.
Result<std::vector<Interval>> ranges_of(const Network& network, const Weights& weights,
                                        const std::vector<NodeId>& nodes,
                                        std::span<const float> images, std::string_view backend) {
  DETOL_ASSIGN(const Network watched, observing(network, nodes));
  const Weights own = in_order_of(watched, weights);
  const auto size = static_cast<std::size_t>(network.input_shape().elements());
  const std::int64_t numbers = watched.output().shape.elements();
  const std::size_t step = size * static_cast<std::size_t>(std::max<std::int64_t>(
                                      1, std::min<std::int64_t>(64, kMostObserved / numbers)));
  std::vector<Interval> ranges(nodes.size());
  for (std::size_t first = 0; first < images.size(); first += step) {
    const auto some = images.subspan(first, std::min(step, images.size() - first));
    DETOL_ASSIGN(const auto outputs, logits_of(watched, own, some, backend));
    for (std::size_t at = 0; at < outputs.size();) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::int64_t count = network.nodes()[nodes[i]].shape.elements();
        const auto [low, high] =
            std::minmax_element(outputs.begin() + static_cast<std::ptrdiff_t>(at),
                                outputs.begin() + static_cast<std::ptrdiff_t>(at) + count);
        ranges[i] = {std::min(ranges[i].low, *low), std::max(ranges[i].high, *high)};
        at += static_cast<std::size_t>(count);
      }
    }
  }
  return ranges;
}

Layer quantizer(const Interval& range) {
  Layer layer{.kind = LayerKind::kQuantize};
  const float width = range.high - range.low;
  layer.scale = width > 0 ? width / static_cast<float>(kHighest - kLowest) : 1.0F;
  layer.zero_point = std::clamp(kLowest - static_cast<int>(std::lround(range.low / layer.scale)),
                                kLowest, kHighest);
  return layer;
}

// Returns the network with a kQuantize behind each of the nodes.
Result<Network> with_quantizers(const Network& network, const std::map<NodeId, Interval>& ranges) {
  NetworkBuilder builder(network.input_shape());
  std::vector<NodeId> values;  // what the readers of each node read
  for (NodeId node = 0; node < network.nodes().size(); ++node) {
    const Node& own = network.nodes()[node];
    std::vector<NodeId> inputs;
    for (NodeId input : own.inputs) inputs.push_back(values[input]);
    NodeId value =
        node == 0 ? builder.input() : builder.add(own.layer, std::move(inputs), own.name);
    if (const auto range = ranges.find(node); range != ranges.end())
      value = builder.add(quantizer(range->second), {value}, own.name + ".quantized");
    values.push_back(value);
  }
  return builder.build(values.back());
}

void round_weight(Tensor& weight) {
  const ChannelLevels levels = levels_of(weight);
  const std::size_t size = weight.data.size() / levels.scales.size();
  for (std::size_t i = 0; i < weight.data.size(); ++i)
    weight.data[i] = levels.scales[i / size] * static_cast<float>(levels.weights[i]);
}

// Rounds a bias to the levels of the products that it is added to.
void round_bias(Tensor& bias, const ChannelLevels& levels, float input_scale) {
  for (std::size_t i = 0; i < bias.data.size(); ++i) {
    const float scale = input_scale * levels.scales[i];
    bias.data[i] = (std::nearbyint(bias.data[i] / scale) + 0.0F) * scale;  // no -0
  }
}

}  // namespace

std::optional<NodeId> quantizer_of(const Network& network, NodeId node) {
  NodeId input = network.nodes()[node].inputs.front();
  while (row_of(network.nodes()[input].layer.kind).levels == Levels::kKept)
    input = network.nodes()[input].inputs.front();
  if (network.nodes()[input].layer.kind != LayerKind::kQuantize) return std::nullopt;
  return input;
}

// Of rounded weights the scale is the same float again: 127 x scale is rounded by less than half of
// a last place, as a tie would need a scale that no quotient by 127 is rounded to.
ChannelLevels levels_of(const Tensor& weight) {
  ChannelLevels levels;
  const auto channels = static_cast<std::size_t>(weight.shape.front());
  const std::size_t size = weight.data.size() / channels;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const std::span<const float> own(weight.data.data() + channel * size, size);
    float largest = 0;
    for (float one : own) largest = std::max(largest, std::abs(one));
    const float scale = largest > 0 ? largest / kLevels : 1.0F;
    levels.scales.push_back(scale);
    for (float one : own)
      levels.weights.push_back(static_cast<std::int8_t>(std::nearbyint(one / scale)));
  }
  return levels;
}

void round_to_levels(const Network& network, Weights& weights) {
  const auto parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const NodeId node = parameters[i].node;
    if (!has_weights(network.nodes()[node].layer.kind)) continue;
    const auto quantizer = quantizer_of(network, node);
    if (!quantizer) continue;
    if (parameters[i].spec.name == "weight") {
      round_weight(weights[i]);
    } else {  // the bias, which comes after its weight
      round_bias(weights[i], levels_of(weights[i - 1]), network.nodes()[*quantizer].layer.scale);
    }
  }
}

Result<QuantizedNetwork> quantized(const Network& network, const Weights& weights,
                                   std::span<const float> images, std::string_view backend) {
  const std::vector<NodeId> nodes = quantized_nodes(network);
  DETOL_ASSIGN(const auto ranges, ranges_of(network, weights, nodes, images, backend));
  std::map<NodeId, Interval> range_of;
  for (std::size_t i = 0; i < nodes.size(); ++i) range_of.emplace(nodes[i], ranges[i]);
  QuantizedNetwork made;
  DETOL_ASSIGN(made.network, with_quantizers(network, range_of));
  made.weights = in_order_of(made.network, weights);
  round_to_levels(made.network, made.weights);
  return made;
}

}  // namespace detol::inline trainer

#pragma once

// Random networks over every layer kind, in orders that no encoding would choose: shortcuts,
// vectors in the middle, layers that read the same tensor twice.

#include <algorithm>

#include "tests/export/sample_models.h"

namespace detol::testing {

class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed)
      : rng_(seed), builder_({pick({1, 3, 4}), pick({5, 8}), pick({5, 8})}) {
    nodes_ = {builder_.input()};
    for (int i = 0; i < 12; ++i) grow();
  }

  Network build() {
    const NodeId last = rng_.chance(0.5) ? dense(nodes_.back()) : nodes_.back();
    return builder_.build(last).value();
  }

 private:
  std::int64_t pick(std::vector<std::int64_t> choices) {
    return choices[rng_.below(choices.size())];
  }
  NodeId source() { return rng_.chance(0.6) ? nodes_.back() : nodes_[rng_.below(nodes_.size())]; }
  NodeId add(const Layer& layer, const std::vector<NodeId>& inputs) {
    nodes_.push_back(builder_.add(layer, inputs));
    return nodes_.back();
  }

  NodeId dense(NodeId x) {
    return add({.kind = LayerKind::kDense, .channels = pick({3, 4, 7}), .bias = rng_.chance(0.5)},
               {x});
  }

  void conv(NodeId x) {
    const std::int64_t in = builder_.shape(x).channels;
    const bool depthwise = rng_.chance(0.3);
    add({.kind = LayerKind::kConv,
         .channels = depthwise ? 2 * in : pick({4, 6}),
         .kernel = pick({1, 3, 5}),
         .kernel_height = pick({0, 0, 1, 3}),
         .stride = pick({1, 1, 2}),
         .groups = depthwise ? in : 1,
         .dilation = pick({1, 2}),
         .bias = rng_.chance(0.5)},
        {x});
  }

  // Adds up x, twice, and all nodes of x's shape.
  void sum(NodeId x) {
    std::vector<NodeId> inputs{x, x};
    for (const NodeId other : nodes_) {
      if (builder_.shape(other) == builder_.shape(x)) inputs.push_back(other);
    }
    add({.kind = LayerKind::kAdd}, inputs);
  }

  // Concatenates x, twice, between nodes of x's height and width.
  void concat(NodeId x) {
    const Shape& size = builder_.shape(x);
    std::vector<NodeId> inputs;
    for (const NodeId other : nodes_) {
      const Shape& shape = builder_.shape(other);
      const bool fits = shape.height == size.height && shape.width == size.width;
      if (fits && shape.channels < 50 && rng_.chance(0.4)) inputs.push_back(other);
    }
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(inputs.size() / 2), 2, x);
    add({.kind = LayerKind::kConcat}, inputs);
  }

  void scale(NodeId x) {
    const NodeId pooled = rng_.chance(0.5) ? add({.kind = LayerKind::kGlobalAvgPool}, {x}) : x;
    const NodeId gate =
        add({.kind = LayerKind::kActivation, .activation = Activation::kSigmoid}, {pooled});
    add({.kind = LayerKind::kScale}, {x, gate});
  }

  void attention(NodeId x) {
    const std::int64_t heads = pick({1, 2, 4}), key_heads = rng_.chance(0.5) ? 1 : heads;
    const std::int64_t channels = (heads + 2 * key_heads) * pick({2, 4});
    add({.kind = LayerKind::kConv, .channels = channels, .bias = true}, {x});
    add({.kind = LayerKind::kAttention,
         .heads = heads,
         .key_heads = key_heads,
         .causal = rng_.chance(0.5),
         .rotary = rng_.chance(0.5)},
        {nodes_.back()});
  }

  void grow() {
    const NodeId x = source();
    const Shape shape = builder_.shape(x);
    switch (rng_.below(13)) {
      case 0:
      case 1:
        return conv(x);
      case 2:
        return void(add({.kind = LayerKind::kBatchNorm}, {x}));
      case 3:
        return void(add(
            {.kind = LayerKind::kActivation, .activation = static_cast<Activation>(rng_.below(3))},
            {x}));
      case 4:
        return sum(x);
      case 5:
        return scale(x);
      case 6:
        return void(add({.kind = rng_.chance(0.5) ? LayerKind::kMaxPool : LayerKind::kAvgPool,
                         .kernel = pick({1, 3, 5, std::min<std::int64_t>(2, shape.width)}),
                         .kernel_height = pick({0, 1, std::min<std::int64_t>(4, shape.height)}),
                         .stride = pick({1, 2})},
                        {x}));
      case 7:
        return void(add({.kind = LayerKind::kDropout, .rate = rng_.uniform(0, 0.9)}, {x}));
      case 8:
        return void(add({.kind = LayerKind::kFlatten}, {x}));
      case 9:
        return concat(x);
      case 10:
        return void(add({.kind = LayerKind::kLayerNorm}, {x}));
      case 11:
        return attention(x);
      default:
        return void(dense(x));
    }
  }

  Rng rng_;
  NetworkBuilder builder_;
  std::vector<NodeId> nodes_;
};

}  // namespace detol::testing

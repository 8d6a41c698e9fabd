#pragma once

// Random graphs of layers: shortcuts from anywhere to anywhere, values with many readers, layers in
// orders that no encoding would choose.

#include <vector>

#include "core/rng.h"
#include "encodings/network/network.h"

namespace detol {

class RandomNetwork {
 public:
  using enum LayerKind;

  explicit RandomNetwork(std::uint64_t seed) : rng_(seed), builder_(input()) {
    nodes_ = {builder_.input()};
    for (int i = 0; i < 10; ++i) grow();
  }

  // Pools the last node half of the time, and classifies it.
  Network build() {
    const NodeId last = nodes_.back();
    const NodeId pooled = rng_.chance(0.5) ? add({.kind = kGlobalAvgPool}, {last}) : last;
    const NodeId hidden = add({.kind = kDense, .channels = 6, .bias = true}, {pooled});
    return builder_.build(builder_.add({.kind = kDense, .channels = 3}, {hidden})).value();
  }

 private:
  // Mostly images, some sequences and some tables.
  Shape input() {
    const std::int64_t channels = pick({1, 3, 5, 16});
    if (rng_.chance(0.2)) return {channels, 1, pick({9, 16, 30})};
    if (rng_.chance(0.1)) return {channels + 3, 1, 1};
    return {channels, pick({5, 8, 11}), pick({5, 8, 11})};
  }

  // Returns the height of a window: of a sequence always 1, of an image sometimes another than the
  // width's.
  std::int64_t height(NodeId x) {
    if (builder_.shape(x).height == 1) return 1;
    return rng_.chance(0.8) ? 0 : pick({1, 3});
  }

  std::int64_t pick(std::vector<std::int64_t> choices) {
    return choices[rng_.below(choices.size())];
  }

  NodeId add(const Layer& layer, const std::vector<NodeId>& inputs) {
    nodes_.push_back(builder_.add(layer, inputs));
    return nodes_.back();
  }

  // The newest node half of the time, else any.
  NodeId source() { return rng_.chance(0.5) ? nodes_.back() : nodes_[rng_.below(nodes_.size())]; }

  NodeId conv(NodeId x) {
    const bool depthwise = rng_.chance(0.3);
    const std::int64_t channels = depthwise ? builder_.shape(x).channels : pick({4, 16, 21, 32});
    const std::int64_t groups = depthwise ? channels : 1;
    return add({.kind = kConv,
                .channels = channels,
                .kernel = pick({1, 3, 5}),
                .kernel_height = height(x),
                .stride = pick({1, 1, 2}),
                .groups = groups,
                .dilation = pick({1, 1, 2}),
                .bias = rng_.chance(0.5)},
               {x});
  }

  NodeId norm(NodeId x) {
    x = add({.kind = kBatchNorm}, {x});
    for (NodeId other : nodes_) {
      const bool fits = other != x && builder_.shape(other) == builder_.shape(x);
      if (fits && rng_.chance(0.3)) return relu(add({.kind = kAdd}, {other, x}));
    }
    return x;
  }

  NodeId relu(NodeId x) {
    const Activation kinds[] = {Activation::kRelu, Activation::kRelu, Activation::kSilu};
    return add({.kind = kActivation, .activation = kinds[rng_.below(3)]}, {x});
  }

  // Concatenates x, up to three values of x's height and width, and x again.
  NodeId concat(NodeId x) {
    std::vector<NodeId> inputs = {x};
    for (NodeId other : nodes_) {
      const Shape &shape = builder_.shape(other), &size = builder_.shape(x);
      const bool fits = shape.height == size.height && shape.width == size.width;
      if (fits && inputs.size() < 4 && rng_.chance(0.5)) inputs.push_back(other);
    }
    inputs.push_back(x);
    const NodeId joined = add({.kind = kConcat}, inputs);
    // Makes it narrow again, so that chains of concatenations do not grow exponentially.
    return add({.kind = kConv, .channels = pick({7, 16}), .bias = true}, {joined});
  }

  NodeId pool(LayerKind kind, NodeId x) {
    const std::int64_t kernel = builder_.shape(x).width > 1 ? pick({2, 3, 3}) : 3;
    return add({.kind = kind, .kernel = kernel, .kernel_height = height(x), .stride = pick({1, 2})},
               {x});
  }

  NodeId gate(NodeId x) {
    const NodeId pooled = rng_.chance(0.5) ? add({.kind = kGlobalAvgPool}, {x}) : x;
    const NodeId s = add({.kind = kActivation, .activation = Activation::kSigmoid}, {pooled});
    return add({.kind = kScale}, {x, s});
  }

  NodeId attention(NodeId x) {
    const std::int64_t heads = pick({1, 2, 4}), key_heads = rng_.chance(0.5) ? 1 : heads;
    const std::int64_t width = pick({2, 8, 16});
    x = add({.kind = kConv, .channels = (heads + 2 * key_heads) * width, .bias = true}, {x});
    return add({.kind = kAttention,
                .heads = heads,
                .key_heads = key_heads,
                .causal = rng_.chance(0.5),
                .rotary = rng_.chance(0.5)},
               {x});
  }

  void grow() {
    const NodeId x = source();
    switch (rng_.below(12)) {
      case 0:
      case 1:
        return void(norm(conv(x)));
      case 2:
        return void(relu(norm(conv(x))));
      case 3:
        return void(relu(x));
      case 4:
        return void(pool(kAvgPool, x));
      case 5:
        return void(pool(kMaxPool, x));
      case 6:
        return void(gate(x));
      case 7:
        return void(concat(x));
      case 8:
        return void(add({.kind = kLayerNorm}, {x}));
      case 9:  // as in a cell, whose operations begin with an activation each
        norm(conv(relu(x)));
        return void(norm(conv(relu(x))));
      case 10:
        return void(attention(x));
      default:
        return void(add({.kind = kDropout, .rate = 0.2}, {x}));
    }
  }

  Rng rng_;
  NetworkBuilder builder_;
  std::vector<NodeId> nodes_;
};

}  // namespace detol

// Fast backends against the reference in double on random graphs: shortcuts from anywhere to
// anywhere, values with many readers, layers in orders that no encoding would choose.

#include <cmath>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/cost.h"
#include "tests/trainer/samples.h"
#include "trainer/reference/reference.h"

namespace detol {
namespace {

using enum LayerKind;

class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed) : rng_(seed), builder_(input()) {
    nodes_ = {builder_.input()};
    for (int i = 0; i < 10; ++i) grow();
  }

  // Everything that nobody reads yet is pooled, gated together and classified.
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

  // Of a window: of a sequence always 1, of an image sometimes another than the width's.
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

  // Up to three values of x's size between x and x.
  NodeId concat(NodeId x) {
    std::vector<NodeId> inputs = {x};
    for (NodeId other : nodes_) {
      const Shape &shape = builder_.shape(other), &size = builder_.shape(x);
      const bool fits = shape.height == size.height && shape.width == size.width;
      if (fits && inputs.size() < 4 && rng_.chance(0.5)) inputs.push_back(other);
    }
    inputs.push_back(x);
    const NodeId joined = add({.kind = kConcat}, inputs);
    // Narrower again, so that chains of these do not explode.
    return add({.kind = kConv, .channels = pick({7, 16}), .bias = true}, {joined});
  }

  NodeId pool(LayerKind kind, NodeId x) {
    const std::int64_t kernel = builder_.shape(x).width > 1 ? pick({2, 3, 3}) : 3;
    return add({.kind = kind, .kernel = kernel, .kernel_height = height(x), .stride = pick({1, 2})},
               {x});
  }

  NodeId gate(NodeId x) {
    const NodeId pooled = add({.kind = kGlobalAvgPool}, {x});
    const NodeId s = add({.kind = kActivation, .activation = Activation::kSigmoid}, {pooled});
    return add({.kind = kScale}, {x, s});
  }

  void grow() {
    const NodeId x = source();
    switch (rng_.below(10)) {
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
      default:
        return void(add({.kind = kDropout, .rate = 0.2}, {x}));
    }
  }

  Rng rng_;
  NetworkBuilder builder_;
  std::vector<NodeId> nodes_;
};

double largest(std::span<const float> values) {
  double most = 0;
  for (float value : values) most = std::max(most, std::abs(double{value}));
  return most;
}

TEST(FastBackends, AgreeOnRandomNetworks) {
  Recipe recipe;
  recipe.batch_size = 3;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Network network = RandomNetwork(seed).build();
    const auto reference = make_reference<double>(network, recipe);
    const auto compiled = backends().front().compile(network, recipe, {});
    ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
    const auto& tested = *compiled;
    const Weights start = lived_in_weights(network, seed);
    for (Executable* one : {static_cast<Executable*>(reference.get()), tested.get()}) {
      one->set_state({start, {}});
      fill_batch(*one, 3, seed);
      one->train_step({.lr = 0.001, .step = 1, .seed = seed});
    }
    // Wide, for an input of ReLU may fall on the other side of zero; a wrong gradient is far off.
    EXPECT_LE(apart(tested->state().weights, reference->state().weights, start), 1e-2);
    tested->evaluate(3);
    reference->evaluate(3);
    const double scale = 1 + largest(reference->logits());
    for (std::size_t i = 0; i < reference->logits().size(); ++i) {
      ASSERT_NEAR(tested->logits()[i], reference->logits()[i], 1e-4 * scale);
    }
  }
}

// Every layer reads all before it, as in a cell or a densely connected block.
Network dense_block(LayerKind kind, LayerKind norm) {
  NetworkBuilder b({16, 16, 16});
  std::vector<NodeId> made = {b.add({.kind = kConv, .channels = 32, .kernel = 3}, {b.input()})};
  for (int i = 0; i < 5; ++i) {
    NodeId x = made.back();
    if (made.size() > 1) x = b.add({.kind = kind}, made);
    x = b.add({.kind = kConv, .channels = 32}, {b.add({.kind = norm}, {x})});
    x = b.add({.kind = kConv, .channels = 32, .kernel = 3, .groups = 32, .dilation = 2}, {x});
    made.push_back(b.add({.kind = i % 2 == 0 ? kMaxPool : kAvgPool, .kernel = 3}, {x}));
  }
  const NodeId joined = b.add({.kind = kConcat}, made);
  const NodeId pooled = b.add({.kind = kGlobalAvgPool}, {joined});
  return b.build(b.add({.kind = kDense, .channels = 16}, {pooled})).value();
}

// One wide value that many narrow layers read.
Network fan_out() {
  NetworkBuilder b({16, 16, 16});
  const NodeId wide = b.add({.kind = kConv, .channels = 256, .kernel = 3}, {b.input()});
  std::vector<NodeId> narrow;
  for (int i = 0; i < 8; ++i) narrow.push_back(b.add({.kind = kGlobalAvgPool}, {wide}));
  const NodeId joined = b.add({.kind = kConcat}, narrow);
  return b.build(b.add({.kind = kDense, .channels = 16}, {joined})).value();
}

TEST(FastBackends, NeedNoMoreMemoryThanIsForeseen) {
  const Recipe recipe{.batch_size = 16};
  for (const Network& network :
       {dense_block(kAdd, kBatchNorm), dense_block(kAdd, kLayerNorm),
        dense_block(kConcat, kBatchNorm), dense_block(kConcat, kLayerNorm), fan_out()}) {
    const auto compiled = backends().front().compile(network, recipe, {}).value();
    const auto foreseen = static_cast<std::size_t>(cost_of(network, recipe)->memory);
    EXPECT_LE(compiled->bytes(), foreseen) << network.nodes().size() << " layers";
  }
}

}  // namespace
}  // namespace detol

#pragma once

// Small networks, batches and states for the tests of the backends.

#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.h"
#include "trainer/backends/backend.h"

namespace detol {

// LayerCase is a layer that sandwich() puts between a 1x1 convolution, which makes its input
// gradient visible, and a classifier.
struct LayerCase {
  std::string name;
  Shape input;
  Layer layer;
  friend void PrintTo(const LayerCase& sample, std::ostream* out) { *out << sample.name; }
};

inline Network sandwich(const LayerCase& sample, std::int64_t classes = 3) {
  NetworkBuilder b(sample.input);
  const Layer front{.kind = LayerKind::kConv, .channels = sample.input.channels, .bias = true};
  const Layer side{.kind = LayerKind::kConv, .channels = sample.input.channels, .kernel = 3};
  NodeId x = b.add(front, {b.input()});
  std::vector<NodeId> inputs = {x};
  if (sample.layer.kind == LayerKind::kAdd) inputs.push_back(b.add(side, {b.input()}));
  if (sample.layer.kind == LayerKind::kConcat) {
    const Layer narrow{.kind = LayerKind::kConv, .channels = 2};
    inputs = {b.add(narrow, {x}), x, b.add(side, {x}), x};
  }
  if (sample.layer.kind == LayerKind::kScale) {
    const NodeId scales = b.add(side, {x});
    const bool is_gate = sample.name.starts_with("gate");
    inputs.push_back(is_gate ? scales : b.add({.kind = LayerKind::kGlobalAvgPool}, {scales}));
  }
  x = b.add({.kind = LayerKind::kFlatten}, {b.add(sample.layer, inputs)});
  return b.build(b.add({.kind = LayerKind::kDense, .channels = classes, .bias = true}, {x}))
      .value();
}

// Returns every kind of layer, with the shapes that have broken backends: few and odd channels, odd
// sizes, strides that do not divide, windows larger than what is left of the image.
inline std::vector<LayerCase> layer_cases() {
  using enum LayerKind;
  const auto conv = [](std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                       std::int64_t groups, std::int64_t dilation, bool bias) {
    return Layer{.kind = kConv,
                 .channels = channels,
                 .kernel = kernel,
                 .stride = stride,
                 .groups = groups,
                 .dilation = dilation,
                 .bias = bias};
  };
  const auto wide = [](Layer layer) {
    layer.kernel_height = 1;
    return layer;
  };
  std::vector<LayerCase> cases = {
      {"conv1", {3, 6, 6}, conv(5, 1, 1, 1, 1, false)},
      {"conv1_stride2", {4, 7, 5}, conv(6, 1, 2, 1, 1, true)},
      {"conv3", {3, 6, 6}, conv(5, 3, 1, 1, 1, true)},
      {"conv3_stride2_odd", {5, 7, 5}, conv(7, 3, 2, 1, 1, false)},
      {"conv3_stride3", {2, 8, 8}, conv(3, 3, 3, 1, 1, true)},
      {"conv5", {2, 6, 6}, conv(4, 5, 1, 1, 1, true)},
      {"conv7_small_image", {2, 5, 4}, conv(3, 7, 2, 1, 1, false)},
      {"conv5_one_pixel", {1, 1, 1}, conv(6, 5, 2, 1, 1, true)},
      {"conv3_dilated", {3, 7, 7}, conv(4, 3, 1, 1, 2, true)},
      {"conv3_groups2", {4, 6, 6}, conv(6, 3, 1, 2, 1, true)},
      {"conv3_groups3", {9, 5, 5}, conv(6, 3, 2, 3, 1, false)},
      {"depthwise3", {6, 6, 6}, conv(6, 3, 1, 6, 1, false)},
      {"depthwise5_stride2", {5, 7, 7}, conv(5, 5, 2, 5, 1, true)},
      {"depthwise7", {3, 6, 6}, conv(3, 7, 1, 3, 1, false)},
      {"depthwise3_multiplier2", {3, 6, 6}, conv(6, 3, 1, 3, 1, true)},
      {"dense", {3, 4, 4}, {.kind = kDense, .channels = 7, .bias = true}},
      {"dense_without_bias", {5, 1, 1}, {.kind = kDense, .channels = 4}},
      {"batch_norm", {3, 5, 5}, {.kind = kBatchNorm}},
      {"batch_norm_vector", {5, 1, 1}, {.kind = kBatchNorm}},
      {"max_pool3", {3, 6, 6}, {.kind = kMaxPool, .kernel = 3}},
      {"max_pool3_stride2_odd", {3, 7, 5}, {.kind = kMaxPool, .kernel = 3, .stride = 2}},
      {"max_pool1_stride2", {3, 6, 6}, {.kind = kMaxPool, .kernel = 1, .stride = 2}},
      {"max_pool5_small_image", {2, 3, 3}, {.kind = kMaxPool, .kernel = 5}},
      {"avg_pool3", {3, 6, 6}, {.kind = kAvgPool, .kernel = 3}},
      {"avg_pool3_stride2_odd", {3, 7, 5}, {.kind = kAvgPool, .kernel = 3, .stride = 2}},
      {"avg_pool5_stride3", {2, 8, 8}, {.kind = kAvgPool, .kernel = 5, .stride = 3}},
      {"conv1x3", {3, 1, 9}, wide({.kind = kConv, .channels = 5, .kernel = 3, .bias = true})},
      {"conv1x7_stride2",
       {4, 1, 12},
       wide({.kind = kConv, .channels = 3, .kernel = 7, .stride = 2})},
      {"conv1x5_dilated",
       {2, 1, 14},
       wide({.kind = kConv, .channels = 4, .kernel = 5, .dilation = 2, .bias = true})},
      {"conv1x3_groups2",
       {4, 1, 7},
       wide({.kind = kConv, .channels = 6, .kernel = 3, .groups = 2, .bias = true})},
      {"conv1x3_over_an_image", {3, 4, 6}, wide({.kind = kConv, .channels = 4, .kernel = 3})},
      {"conv5x3",
       {2, 6, 7},
       {.kind = kConv, .channels = 3, .kernel = 3, .kernel_height = 5, .stride = 2}},
      {"conv5x3_one_pixel",
       {3, 1, 1},
       {.kind = kConv, .channels = 4, .kernel = 3, .kernel_height = 5, .bias = true}},
      {"depthwise1x5",
       {5, 1, 11},
       wide({.kind = kConv, .channels = 5, .kernel = 5, .groups = 5, .bias = true})},
      {"depthwise1x3_dilated_stride2",
       {3, 1, 12},
       wide({.kind = kConv, .channels = 3, .kernel = 3, .stride = 2, .groups = 3, .dilation = 2})},
      {"depthwise3_dilated", {5, 7, 7}, conv(5, 3, 1, 5, 2, false)},
      {"depthwise5_dilated_stride2", {3, 9, 9}, conv(3, 5, 2, 3, 2, true)},
      {"max_pool2_stride2", {3, 6, 6}, {.kind = kMaxPool, .kernel = 2, .stride = 2}},
      {"max_pool2_stride2_odd", {3, 7, 5}, {.kind = kMaxPool, .kernel = 2, .stride = 2}},
      {"max_pool4_stride3", {2, 9, 8}, {.kind = kMaxPool, .kernel = 4, .stride = 3}},
      {"max_pool1x3_stride2", {3, 1, 9}, wide({.kind = kMaxPool, .kernel = 3, .stride = 2})},
      {"avg_pool2_stride2", {3, 6, 6}, {.kind = kAvgPool, .kernel = 2, .stride = 2}},
      {"avg_pool1x4_stride2", {3, 1, 9}, wide({.kind = kAvgPool, .kernel = 4, .stride = 2})},
      {"avg_pool3x2", {2, 5, 6}, {.kind = kAvgPool, .kernel = 2, .kernel_height = 3}},
      {"concat", {3, 5, 5}, {.kind = kConcat}},
      {"concat_sequence", {3, 1, 7}, {.kind = kConcat}},
      {"concat_vector", {5, 1, 1}, {.kind = kConcat}},
      {"layer_norm", {5, 4, 3}, {.kind = kLayerNorm}},
      {"layer_norm_sequence", {6, 1, 7}, {.kind = kLayerNorm}},
      {"layer_norm_vector", {9, 1, 1}, {.kind = kLayerNorm}},
      {"rms_norm", {6, 4, 5}, {.kind = kRmsNorm}},
      {"rms_norm_vector", {9, 1, 1}, {.kind = kRmsNorm}},
      {"attention", {12, 1, 9}, {.kind = kAttention, .heads = 2, .key_heads = 2}},
      {"attention_causal", {6, 1, 7}, {.kind = kAttention, .causal = true}},
      {"attention_rotary",
       {16, 1, 6},
       {.kind = kAttention, .heads = 2, .key_heads = 1, .causal = true, .rotary = true}},
      {"attention_over_an_image", {18, 3, 4}, {.kind = kAttention, .heads = 4, .key_heads = 1}},
      {"attention_one_position", {9, 1, 1}, {.kind = kAttention}},
      {"global_avg_pool", {5, 7, 3}, {.kind = kGlobalAvgPool}},
      {"flatten", {3, 3, 5}, {.kind = kFlatten}},
      {"add", {3, 5, 5}, {.kind = kAdd}},
      {"scale", {3, 5, 5}, {.kind = kScale}},
      {"gate", {3, 5, 5}, {.kind = kScale}},
      {"dropout", {3, 5, 5}, {.kind = kDropout, .rate = 0.4}},
  };
  for (const ActivationRow& row : kActivations)
    cases.push_back(
        {std::string(row.name), {3, 5, 5}, {.kind = kActivation, .activation = row.function}});
  return cases;
}

// conv-bn-relu twice around a shortcut, then squeeze-excite, dropout and a classifier: what the
// encodings put together.
inline Network composite(std::int64_t channels, Shape input = {3, 8, 8}) {
  using enum LayerKind;
  NetworkBuilder b(input);
  const auto conv = [&](NodeId x, std::int64_t out, std::int64_t kernel, std::int64_t groups) {
    x = b.add({.kind = kConv, .channels = out, .kernel = kernel, .groups = groups}, {x});
    return b.add({.kind = kBatchNorm}, {x});
  };
  const auto activate = [&](NodeId x, Activation a) {
    return b.add({.kind = kActivation, .activation = a}, {x});
  };
  const NodeId stem = activate(conv(b.input(), channels, 3, 1), Activation::kRelu);
  NodeId x = activate(conv(stem, channels, 3, channels), Activation::kSilu);
  x = activate(b.add({.kind = kAdd}, {conv(x, channels, 1, 1), stem}), Activation::kRelu);
  NodeId s = b.add({.kind = kGlobalAvgPool}, {x});
  s = activate(b.add({.kind = kConv, .channels = 2, .bias = true}, {s}), Activation::kRelu);
  s = b.add({.kind = kConv, .channels = channels, .bias = true}, {s});
  x = b.add({.kind = kScale}, {x, activate(s, Activation::kSigmoid)});
  x = b.add({.kind = kMaxPool, .kernel = 3, .stride = 2}, {x});
  x = b.add({.kind = kDropout, .rate = 0.2}, {b.add({.kind = kGlobalAvgPool}, {x})});
  return b.build(b.add({.kind = kDense, .channels = 4, .bias = true}, {x})).value();
}

inline void fill_batch(Executable& executable, std::int64_t classes, std::uint64_t seed) {
  Rng rng(seed);
  for (float& pixel : executable.images()) pixel = static_cast<float>(rng.normal());
  for (std::int32_t& label : executable.labels()) {
    label = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes)));
  }
  for (float& target : executable.targets().targets) target = static_cast<float>(rng.uniform());
}

// ||a - b|| / ||b - c|| over all tensors: how far two updates from c are apart.
inline double apart(const Weights& a, const Weights& b, const Weights& c) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].data.size(); ++k) {
      const double reference = double{b[i].data[k]}, found = double{a[i].data[k]};
      const double start = double{c[i].data[k]};
      difference += (found - reference) * (found - reference);
      length += (reference - start) * (reference - start);
    }
  }
  return std::sqrt(difference / length);
}

// Returns weights as after some training: nothing is exactly 0 or 1.
inline Weights lived_in_weights(const Network& network, std::uint64_t seed) {
  Weights weights = initial_weights(network, seed);
  Rng rng = Rng(seed).split(1u << 20);
  for (Tensor& tensor : weights) {
    for (float& value : tensor.data) value += static_cast<float>(rng.uniform(-0.1, 0.1));
  }
  return weights;
}

}  // namespace detol

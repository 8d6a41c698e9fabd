#include "bench/cases.h"

#include <algorithm>

#include "encodings/network/network.h"

namespace detol::inline bench {
namespace {

Layer conv(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1,
           std::int64_t height = 0) {
  return {.kind = LayerKind::kConv,
          .channels = channels,
          .kernel = kernel,
          .kernel_height = height,
          .stride = stride};
}

Layer depthwise(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1,
                std::int64_t dilation = 1, std::int64_t height = 0) {
  Layer layer = conv(channels, kernel, stride, height);
  layer.groups = channels;
  layer.dilation = dilation;
  return layer;
}

Layer window(LayerKind kind, std::int64_t kernel, std::int64_t stride) {
  return {.kind = kind, .kernel = kernel, .stride = stride};
}

Layer attention(bool causal) {
  return {.kind = LayerKind::kAttention, .heads = 4, .key_heads = 4, .causal = causal};
}

Layer plain(LayerKind kind) {
  return {.kind = kind};
}

}  // namespace

std::vector<LayerCase> layer_cases() {
  using enum LayerKind;
  const Shape wide{16, 32, 32}, middle{32, 16, 16}, deep{64, 8, 8}, deeper{128, 8, 8};
  const Shape sequence{32, 1, 128}, vector{256, 1, 1};
  std::vector<LayerCase> cases = {
      {"conv1x1", wide, conv(16, 1)},
      {"conv1x1", deep, conv(64, 1)},
      {"conv1x1/2", wide, conv(32, 1, 2)},
      {"conv3x3", wide, conv(16, 3)},
      {"conv3x3", middle, conv(32, 3)},
      {"conv3x3", deep, conv(64, 3)},
      {"conv3x3", deeper, conv(128, 3)},
      {"conv3x3/2", wide, conv(32, 3, 2)},
      {"conv5x5", middle, conv(32, 5)},
      {"conv5x5/2", middle, conv(64, 5, 2)},
      {"conv7x7", middle, conv(32, 7)},
      {"conv7x7/2", middle, conv(64, 7, 2)},
      {"conv3x3", {24, 16, 16}, conv(24, 3)},
      {"conv1x3", sequence, conv(32, 3, 1, 1)},
      {"conv1x5", sequence, conv(32, 5, 1, 1)},
      {"conv1x7", sequence, conv(32, 7, 1, 1)},
      {"conv1x9/2", sequence, conv(64, 9, 2, 1)},
      {"depthwise3x3", middle, depthwise(32, 3)},
      {"depthwise3x3/2", middle, depthwise(32, 3, 2)},
      {"depthwise5x5", middle, depthwise(32, 5)},
      {"depthwise5x5/2", middle, depthwise(32, 5, 2)},
      {"depthwise7x7", middle, depthwise(32, 7)},
      {"depthwise7x7/2", middle, depthwise(32, 7, 2)},
      {"depthwise7x7", {192, 8, 8}, depthwise(192, 7)},
      {"depthwise3x3,dilation=2", middle, depthwise(32, 3, 1, 2)},
      {"depthwise5x5,dilation=2", middle, depthwise(32, 5, 1, 2)},
      {"depthwise1x5", sequence, depthwise(32, 5, 1, 1, 1)},
      {"depthwise1x9", sequence, depthwise(32, 9, 1, 1, 1)},
      {"max_pool2x2/2", middle, window(kMaxPool, 2, 2)},
      {"max_pool3x3", middle, window(kMaxPool, 3, 1)},
      {"max_pool3x3/2", middle, window(kMaxPool, 3, 2)},
      {"max_pool5x5/3", middle, window(kMaxPool, 5, 3)},
      {"avg_pool3x3", middle, window(kAvgPool, 3, 1)},
      {"avg_pool3x3/2", middle, window(kAvgPool, 3, 2)},
      {"global_pool", deep, plain(kGlobalAvgPool)},
      {"batch_norm", wide, plain(kBatchNorm)},
      {"batch_norm", deep, plain(kBatchNorm)},
      {"dropout", middle, {.kind = kDropout, .rate = 0.2}},
      {"add", middle, plain(kAdd), 2},
      {"concat", middle, plain(kConcat), 2},
      {"scale", middle, plain(kScale), 2},
      {"dense", vector, {.kind = kDense, .channels = 256, .bias = true}},
      {"layer_norm", vector, plain(kLayerNorm)},
      {"rms_norm", vector, plain(kRmsNorm)},
      {"batch_norm", vector, plain(kBatchNorm)},
      {"attention", {384, 1, 256}, attention(false)},
      {"attention,causal", {384, 1, 256}, attention(true)},
      {"attention", {192, 8, 8}, attention(false)},
  };
  for (const ActivationRow& row : kActivations)
    cases.push_back({row.name, middle, {.kind = kActivation, .activation = row.function}});
  return cases;
}

CaseNetwork network_of(const LayerCase& one) {
  NetworkBuilder builder(one.input);
  const auto before = [&] {
    const Layer layer = conv(one.input.channels, 1);
    return builder.add(layer, {builder.input()});
  };
  std::vector<NodeId> inputs;
  for (int i = 0; i < one.inputs; ++i) inputs.push_back(before());
  if (one.layer.kind == LayerKind::kScale)
    inputs[1] = builder.add(plain(LayerKind::kGlobalAvgPool), {inputs[1]});
  const NodeId subject = builder.add(one.layer, inputs, "subject");
  // A convolution follows, so that no layer is fused with the subject, and the subject's output
  // stays in the blocked layout.
  const NodeId behind = builder.add(conv(builder.shape(subject).channels, 1), {subject});
  const NodeId pooled = builder.add(plain(LayerKind::kGlobalAvgPool), {behind});
  CaseNetwork made{
      builder.build(builder.add({.kind = LayerKind::kDense, .channels = 10}, {pooled})).value()};
  const auto nodes = made.network.nodes();
  made.node = static_cast<NodeId>(std::ranges::find(nodes, "subject", &Node::name) - nodes.begin());
  return made;
}

LayerNeeds needs_of(const Network& network, NodeId id, std::int64_t batch) {
  const Node& node = network.nodes()[id];
  const std::vector<Shape> inputs = network.input_shapes(id);
  double in = 0, weights = 0;
  for (const Shape& shape : inputs) in += static_cast<double>(batch * shape.elements());
  for (const ParameterSpec& spec : parameters_of(node.layer, inputs))
    weights += static_cast<double>(spec.elements());
  const auto out = static_cast<double>(batch * node.shape.elements());
  const auto images = static_cast<double>(batch);
  const double flops = images * static_cast<double>(flops_of(node.layer, inputs, node.shape));
  const double again = weights > 0 ? in + 2 * weights : 0;
  return {.forward = {flops, in + out + weights}, .backward = {2 * flops, in + out + again}};
}

}  // namespace detol::inline bench

#include "bench/networks.h"

#include <array>

#include "core/rng.h"

namespace detol::inline bench {
namespace {

// Blocks adds layers by the names that papers use. Every function returns its last node.
class Blocks {
 public:
  explicit Blocks(const Shape& input) : builder_(input) {}

  NodeId input() const { return builder_.input(); }

  NodeId conv(NodeId x, std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1) {
    return add({.kind = LayerKind::kConv, .channels = channels, .kernel = kernel, .stride = stride},
               {x});
  }
  NodeId norm(NodeId x) { return add({.kind = LayerKind::kBatchNorm}, {x}); }
  NodeId relu(NodeId x) { return add({.kind = LayerKind::kActivation}, {x}); }
  NodeId sum(std::vector<NodeId> terms) { return add({.kind = LayerKind::kAdd}, std::move(terms)); }
  NodeId max_pool(NodeId x) {
    return add({.kind = LayerKind::kMaxPool, .kernel = 3, .stride = 2}, {x});
  }
  NodeId avg_pool(NodeId x) { return add({.kind = LayerKind::kAvgPool, .kernel = 3}, {x}); }
  NodeId flatten(NodeId x) { return add({.kind = LayerKind::kFlatten}, {x}); }
  NodeId dense(NodeId x, std::int64_t channels) {
    return add({.kind = LayerKind::kDense, .channels = channels, .bias = true}, {x});
  }
  NodeId classifier(NodeId x, std::int64_t classes) {
    return dense(add({.kind = LayerKind::kGlobalAvgPool}, {x}), classes);
  }

  NodeId basic_block(NodeId x, std::int64_t channels, std::int64_t stride) {
    const NodeId inner = relu(norm(conv(x, channels, 3, stride)));
    const NodeId residual = norm(conv(inner, channels, 3));
    const bool same = stride == 1 && builder_.shape(x).channels == channels;
    return relu(sum({residual, same ? x : norm(conv(x, channels, 1, stride))}));
  }

  // NAS-Bench-201's operation: ReLU, convolution, batch norm.
  NodeId nor_conv(NodeId x, std::int64_t kernel) {
    return norm(conv(relu(x), builder_.shape(x).channels, kernel));
  }

  // Adds the following cell, in NAS-Bench-201's notation:
  // |nor_conv_3x3~0|+|nor_conv_1x1~0|nor_conv_3x3~1|+|skip_connect~0|avg_pool_3x3~1|nor_conv_3x3~2|
  NodeId cell(NodeId x) {
    const NodeId one = nor_conv(x, 3);
    const NodeId two = sum({nor_conv(x, 1), nor_conv(one, 3)});
    return sum({x, avg_pool(one), nor_conv(two, 3)});
  }

  Network build(NodeId output) const { return builder_.build(output).value(); }

 private:
  NodeId add(const Layer& layer, std::vector<NodeId> inputs) {
    return builder_.add(layer, std::move(inputs));
  }

  NetworkBuilder builder_;
};

Network lenet() {
  Blocks b({1, 28, 28});
  const NodeId first = b.max_pool(b.relu(b.conv(b.input(), 32, 3)));
  const NodeId second = b.max_pool(b.relu(b.conv(first, 64, 3)));
  return b.build(b.dense(b.relu(b.dense(b.flatten(second), 128)), 10));
}

Network resnet8() {
  return make_resnet({});
}

Network resnet20() {
  return make_resnet({.blocks = 3});
}

Network nb201() {
  Blocks b({3, 32, 32});
  NodeId x = b.cell(b.norm(b.conv(b.input(), 16, 3)));
  for (std::int64_t channels : {32, 64}) x = b.cell(b.basic_block(x, channels, 2));
  return b.build(b.classifier(b.relu(b.norm(x)), 10));
}

Network mlp() {
  Blocks b({1, 28, 28});
  const NodeId hidden = b.relu(b.dense(b.flatten(b.input()), 256));
  return b.build(b.dense(b.relu(b.dense(hidden, 256)), 10));
}

Network wide64() {
  return make_resnet({.width = 64, .stem_stride = 2});
}

constexpr std::array kNetworks = {
    BenchNetworkRow{"lenet", "2 convolutions and 2 dense layers on 1x28x28, 421 k parameters",
                    lenet},
    BenchNetworkRow{"resnet8", "ResNet-8 of width 16 on 3x32x32, 78 k parameters", resnet8},
    BenchNetworkRow{"resnet20", "ResNet-20 of width 16 on 3x32x32", resnet20},
    BenchNetworkRow{"nb201", "NAS-Bench-201 skeleton, C = 16, N = 1, one mixed cell", nb201},
    BenchNetworkRow{"mlp", "784-256-256-10", mlp},
    BenchNetworkRow{"wide64", "ResNet-8 of width 64 behind a stem of stride 2", wide64},
};

}  // namespace

Network make_resnet(const ResNet& options) {
  Blocks b(options.input);
  NodeId x = b.relu(b.norm(b.conv(b.input(), options.width, 3, options.stem_stride)));
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    for (int block = 0; block < options.blocks; ++block) {
      x = b.basic_block(x, options.width << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  return b.build(b.classifier(x, options.classes));
}

void prepare_with_noise(const Network& network, Executable& executable) {
  const auto classes = static_cast<std::uint64_t>(network.output().shape.elements());
  executable.set_state({initial_weights(network, 1), {}});
  Rng rng(2);
  for (float& pixel : executable.images()) pixel = static_cast<float>(rng.normal());
  for (std::int32_t& label : executable.labels())
    label = static_cast<std::int32_t>(rng.below(classes));
}

std::span<const BenchNetworkRow> bench_networks() {
  return kNetworks;
}

}  // namespace detol::inline bench

#include "export/pytorch_layers.h"

#include <fmt/format.h>

namespace detol::inline exporting {
namespace {

// Returns a setting of height and width as PyTorch writes it: one number where they are equal.
std::string both(std::int64_t height, std::int64_t width) {
  return height == width ? std::to_string(width) : fmt::format("({}, {})", height, width);
}

std::string kernel_of(const Layer& layer) {
  return both(height_of(layer), layer.kernel);
}

bool is_padded(const Layer& layer) {
  return padding_above(layer) > 0 || padding_beside(layer) > 0;
}

std::string padding_of(const Layer& layer) {
  if (!is_padded(layer)) return {};
  return ", padding=" + both(padding_above(layer), padding_beside(layer));
}

// Returns a setting unless it has PyTorch's default, 1.
std::string unless_one(const char* name, std::int64_t value) {
  return value == 1 ? "" : fmt::format(", {}={}", name, value);
}

std::string bias_of(const Layer& layer) {
  return layer.bias ? "" : ", bias=False";
}

std::string conv(const Layer& layer, const Shape& input) {
  return fmt::format("nn.Conv2d({}, {}, {}{}{}{}{}{})", input.channels, layer.channels,
                     kernel_of(layer), unless_one("stride", layer.stride), padding_of(layer),
                     unless_one("dilation", layer.dilation), unless_one("groups", layer.groups),
                     bias_of(layer));
}

std::string_view activation(Activation function) {
  switch (function) {
    case Activation::kRelu:
      break;
    case Activation::kSilu:
      return "nn.SiLU()";
    case Activation::kSigmoid:
      return "nn.Sigmoid()";
    case Activation::kGelu:
      return "nn.GELU()";
    case Activation::kGeluTanh:
      return "nn.GELU(approximate='tanh')";
    case Activation::kTanh:
      return "nn.Tanh()";
    case Activation::kLeakyRelu:
      return "nn.LeakyReLU()";
    case Activation::kHardSwish:
      return "nn.Hardswish()";
  }
  return "nn.ReLU()";
}

// A pool's stride is always written: PyTorch's default is the kernel.
std::string pool(const char* kind, const Layer& layer, const char* more) {
  return fmt::format("nn.{}({}, stride={}{}{})", kind, kernel_of(layer), layer.stride,
                     padding_of(layer), more);
}

}  // namespace

std::string module_of(const Network& network, NodeId id, bool reads_matrix) {
  const Node& node = network.nodes()[id];
  const Layer& layer = node.layer;
  switch (layer.kind) {
    case LayerKind::kConv:
      return conv(layer, network.input_shapes(id)[0]);
    case LayerKind::kDense:
      return fmt::format("nn.Linear({}, {}{})", network.input_shapes(id)[0].elements(),
                         layer.channels, bias_of(layer));
    case LayerKind::kBatchNorm:
      return fmt::format("nn.BatchNorm{}d({})", reads_matrix ? 1 : 2, node.shape.channels);
    case LayerKind::kActivation:
      return std::string(activation(layer.activation));
    case LayerKind::kMaxPool:
      return pool("MaxPool2d", layer, "");
    case LayerKind::kAvgPool:
      return pool("AvgPool2d", layer, is_padded(layer) ? ", count_include_pad=False" : "");
    case LayerKind::kGlobalAvgPool:
      return "nn.AdaptiveAvgPool2d(1)";
    case LayerKind::kDropout:
      return fmt::format("nn.Dropout({})", layer.rate);
    case LayerKind::kLayerNorm:
      return fmt::format("nn.LayerNorm({})", node.shape.channels);
    case LayerKind::kRmsNorm:
      return fmt::format("nn.RMSNorm({}, eps=1e-5)", node.shape.channels);
    case LayerKind::kAttention:
      return fmt::format("Attention({}, {}{}{})", layer.heads, layer.key_heads,
                         layer.causal ? ", causal=True" : "", layer.rotary ? ", rotary=True" : "");
    case LayerKind::kInput:
    case LayerKind::kFlatten:
    case LayerKind::kAdd:
    case LayerKind::kScale:
    case LayerKind::kConcat:
    case LayerKind::kQuantize:
      break;
  }
  return {};
}

}  // namespace detol::inline exporting

#include "encodings/network/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace detol::inline encoding {
namespace {

// kMostElements: larger tensors of one image fit in no machine; keeps every product below 2^63.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

constexpr std::int64_t kLowestLevel = 0, kHighestLevel = 255;  // of kQuantize

using Inputs = std::span<const Shape>;

tl::unexpected<Error> broken(const Layer& layer, const std::string& what) {
  return fail(ErrorCode::kInput, fmt::format("{}: {}", to_text(layer.kind), what));
}

// Counts the positions of a window of `kernel` with `padding` on both sides; 0 if it does not fit.
std::int64_t window_count(const Layer& layer, std::int64_t size, std::int64_t kernel,
                          std::int64_t padding) {
  const std::int64_t room = size + 2 * padding - layer.dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / layer.stride + 1;
}

// Returns the output shape of a pool or a convolution with `channels` outputs.
Result<Shape> windowed(const Layer& layer, const Shape& in, std::int64_t channels) {
  if (layer.kernel < 1 || layer.kernel_height < 0 || layer.stride < 1 || layer.dilation < 1) {
    return broken(layer, fmt::format("kernel {}, stride {} and dilation {} must be positive",
                                     layer.kernel, layer.stride, layer.dilation));
  }
  if (layer.kernel > 1024 || layer.kernel_height > 1024 || layer.dilation > 1024 ||
      layer.stride > 1024) {
    return broken(layer, "kernel, stride and dilation must be at most 1024");
  }
  return Shape{channels, window_count(layer, in.height, height_of(layer), padding_above(layer)),
               window_count(layer, in.width, layer.kernel, padding_beside(layer))};
}

Result<Shape> conv_shape(const Layer& layer, Inputs in) {
  const std::int64_t groups = layer.groups;
  if (layer.channels < 1) return broken(layer, fmt::format("{} output channels", layer.channels));
  if (groups < 1 || in[0].channels % groups != 0 || layer.channels % groups != 0) {
    return broken(layer, fmt::format("{} groups divide neither {} inputs nor {} outputs", groups,
                                     in[0].channels, layer.channels));
  }
  for (const std::int64_t side : {layer.kernel, height_of(layer)}) {
    if (side % 2 == 0) return broken(layer, fmt::format("kernel {} must be odd", side));
  }
  return windowed(layer, in[0], layer.channels);
}

Result<Shape> dense_shape(const Layer& layer, Inputs) {
  if (layer.channels < 1) return broken(layer, fmt::format("{} outputs", layer.channels));
  return Shape{layer.channels, 1, 1};
}

Result<Shape> pool_shape(const Layer& layer, Inputs in) {
  if (layer.dilation != 1) return broken(layer, "it has no dilation");
  return windowed(layer, in[0], in[0].channels);
}
Result<Shape> same_shape(const Layer&, Inputs in) {
  return in[0];
}
Result<Shape> global_pool_shape(const Layer&, Inputs in) {
  return Shape{in[0].channels, 1, 1};
}
Result<Shape> flat_shape(const Layer&, Inputs in) {
  return Shape{in[0].elements(), 1, 1};
}

Result<Shape> add_shape(const Layer& layer, Inputs in) {
  for (const Shape& shape : in) {
    if (shape != in[0]) {
      return broken(layer, fmt::format("inputs differ: {} and {}", to_text(in[0]), to_text(shape)));
    }
  }
  return in[0];
}

Result<Shape> concat_shape(const Layer& layer, Inputs in) {
  Shape joined = in[0];
  for (const Shape& shape : in.subspan(1)) {
    if (shape.height != joined.height || shape.width != joined.width) {
      return broken(layer, fmt::format("inputs differ: {} and {}", to_text(in[0]), to_text(shape)));
    }
    joined.channels += shape.channels;
  }
  return joined;
}

Result<Shape> scale_shape(const Layer& layer, Inputs in) {
  if (in[1] != in[0] && in[1] != Shape{in[0].channels, 1, 1}) {
    return broken(layer, fmt::format("{} cannot scale {}", to_text(in[1]), to_text(in[0])));
  }
  return in[0];
}

Result<Shape> attention_shape(const Layer& layer, Inputs in) {
  if (layer.heads < 1 || layer.key_heads < 1 || layer.heads % layer.key_heads != 0)
    return broken(
        layer, fmt::format("{} heads cannot share {} heads of keys", layer.heads, layer.key_heads));
  const std::int64_t parts = layer.heads + 2 * layer.key_heads;
  if (in[0].channels % parts != 0)
    return broken(layer, fmt::format("{} channels are no {} equal parts: queries, keys and values",
                                     in[0].channels, parts));
  const std::int64_t width = in[0].channels / parts;
  if (layer.rotary && width % 2 != 0)
    return broken(layer, fmt::format("rotary positions need pairs of channels, not {}", width));
  return Shape{layer.heads * width, in[0].height, in[0].width};
}

Result<Shape> quantize_shape(const Layer& layer, Inputs in) {
  if (!(layer.scale > 0) || !std::isfinite(layer.scale))
    return broken(layer, fmt::format("scale {} must be positive", layer.scale));
  if (layer.zero_point < kLowestLevel || layer.zero_point > kHighestLevel)
    return broken(layer, fmt::format("zero_point {} must be from 0 to 255", layer.zero_point));
  return in[0];
}

std::vector<ParameterSpec> product_parameters(const Layer& layer,
                                              std::vector<std::int64_t> weight) {
  std::vector<ParameterSpec> specs = {{"weight", std::move(weight), true, true}};
  if (layer.bias) specs.push_back({"bias", {layer.channels}, true, false});
  return specs;
}

std::vector<ParameterSpec> conv_parameters(const Layer& layer, Inputs in) {
  return product_parameters(
      layer, {layer.channels, in[0].channels / layer.groups, height_of(layer), layer.kernel});
}

std::vector<ParameterSpec> dense_parameters(const Layer& layer, Inputs in) {
  return product_parameters(layer, {layer.channels, in[0].elements()});
}

std::vector<ParameterSpec> layer_norm_parameters(const Layer&, Inputs in) {
  return {{"gamma", {in[0].channels}, true, false}, {"beta", {in[0].channels}, true, false}};
}

std::vector<ParameterSpec> rms_norm_parameters(const Layer&, Inputs in) {
  return {{"gamma", {in[0].channels}, true, false}};
}

std::vector<ParameterSpec> batch_norm_parameters(const Layer& layer, Inputs in) {
  std::vector<ParameterSpec> specs = layer_norm_parameters(layer, in);
  for (std::string_view name : {"running_mean", "running_var"})
    specs.push_back({name, {in[0].channels}, false, false});
  return specs;
}

double conv_flops(const Layer& layer, Inputs in, const Shape& output) {
  const std::int64_t per_group = in[0].channels / layer.groups;
  const auto window = static_cast<double>(layer.kernel * height_of(layer));
  return 2 * static_cast<double>(output.elements()) * static_cast<double>(per_group) * window;
}

double dense_flops(const Layer&, Inputs in, const Shape& output) {
  return 2 * static_cast<double>(in[0].elements()) * static_cast<double>(output.elements());
}

// Products of queries and keys, of weights and values; a causal layer computes about half of them.
double attention_flops(const Layer& layer, Inputs, const Shape& output) {
  const auto positions = static_cast<double>(output.height) * static_cast<double>(output.width);
  const double seen = layer.causal ? (positions + 1) / 2 : positions;
  return 4 * static_cast<double>(output.elements()) * seen;
}

constexpr std::size_t kAny = 1u << 16;

using enum LayerKind;
using enum Levels;
using Role = LayerRole;

// kKinds is in the order of LayerKind.
constexpr std::array kKinds = {
    LayerRow{kInput, "input", '?', Role::kInput, 0, 0, nullptr},
    LayerRow{kConv, "conv", 'c', Role::kProduct, 1, 1, conv_shape, kOwn, conv_parameters,
             conv_flops},
    LayerRow{kDense, "dense", 'd', Role::kProduct, 1, 1, dense_shape, kOwn, dense_parameters,
             dense_flops},
    LayerRow{kBatchNorm, "batch_norm", 'b', Role::kBatchNorm, 1, 1, same_shape, kJoined,
             batch_norm_parameters, nullptr, "batch"},
    LayerRow{kActivation, "activation", '?', Role::kElementwise, 1, 1, same_shape, kJoined},
    LayerRow{kMaxPool, "max_pool", 'm', Role::kWindow, 1, 1, pool_shape, kKept},
    LayerRow{kAvgPool, "avg_pool", 'a', Role::kWindow, 1, 1, pool_shape},
    LayerRow{kGlobalAvgPool, "global_avg_pool", 'p', Role::kWindow, 1, 1, global_pool_shape},
    LayerRow{kFlatten, "flatten", 'f', Role::kReshape, 1, 1, flat_shape, kKept},
    LayerRow{kAdd, "add", '+', Role::kJoin, 2, kAny, add_shape},
    LayerRow{kScale, "scale", '*', Role::kJoin, 2, 2, scale_shape},
    LayerRow{kDropout, "dropout", 'o', Role::kElementwise, 1, 1, same_shape, kKept},
    LayerRow{kConcat, "concat", '&', Role::kJoin, 2, kAny, concat_shape},
    LayerRow{kLayerNorm, "layer_norm", 'l', Role::kChannelNorm, 1, 1, same_shape, kOwn,
             layer_norm_parameters, nullptr, "layer"},
    LayerRow{kQuantize, "quantize", '?', Role::kElementwise, 1, 1, quantize_shape},
    LayerRow{kRmsNorm, "rms_norm", 'n', Role::kChannelNorm, 1, 1, same_shape, kOwn,
             rms_norm_parameters, nullptr, "rms"},
    LayerRow{kAttention, "attention", 'h', Role::kAttention, 1, 1, attention_shape, kOwn, nullptr,
             attention_flops},
};

static_assert(kKinds.size() == static_cast<std::size_t>(kLastLayerKind) + 1);

// Returns false if the product passes the limit (factors are at most 2^40 each).
bool fits(const Shape& s) {
  if (s.channels < 1 || s.height < 1 || s.width < 1) return false;
  if (s.channels > kMostElements || s.height > kMostElements || s.width > kMostElements)
    return false;
  const auto product = static_cast<double>(s.channels) * static_cast<double>(s.height) *
                       static_cast<double>(s.width);
  return product <= static_cast<double>(kMostElements);
}

}  // namespace

std::span<const LayerRow> layer_rows() {
  return kKinds;
}

const LayerRow& row_of(LayerKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string to_text(const Shape& s) {
  return fmt::format("{}x{}x{}", s.channels, s.height, s.width);
}

std::int64_t head_width(const Layer& layer, const Shape& input) {
  return input.channels / (layer.heads + 2 * layer.key_heads);
}

std::string_view to_text(LayerKind kind) {
  return row_of(kind).name;
}

float on_levels(const Layer& layer, float x) {
  const auto zero = static_cast<float>(layer.zero_point);
  const float level = std::nearbyint(x / layer.scale) + zero;
  const float kept =
      std::clamp(level, static_cast<float>(kLowestLevel), static_cast<float>(kHighestLevel));
  return (kept - zero) * layer.scale;
}

std::int64_t height_of(const Layer& layer) {
  return layer.kernel_height == 0 ? layer.kernel : layer.kernel_height;
}

std::int64_t padding_above(const Layer& layer) {
  return (height_of(layer) - 1) * layer.dilation / 2;
}

std::int64_t padding_beside(const Layer& layer) {
  return (layer.kernel - 1) * layer.dilation / 2;
}

std::int64_t ParameterSpec::elements() const {
  std::int64_t product = 1;
  for (std::int64_t extent : shape) product *= extent;
  return product;
}

Result<Shape> output_shape(const Layer& layer, std::span<const Shape> inputs) {
  const LayerRow& row = row_of(layer.kind);
  if (row.shape == nullptr) return broken(layer, "has no inputs; the builder gives its shape");
  if (inputs.size() < row.fewest_inputs || inputs.size() > row.most_inputs) {
    return broken(layer, fmt::format("{} inputs", inputs.size()));
  }
  DETOL_ASSIGN(const Shape shape, row.shape(layer, inputs));
  if (!fits(shape))
    return broken(layer, fmt::format("an output of {} is impossible", to_text(shape)));
  return shape;
}

std::vector<ParameterSpec> parameters_of(const Layer& layer, std::span<const Shape> inputs) {
  const LayerRow& row = row_of(layer.kind);
  return row.parameters == nullptr ? std::vector<ParameterSpec>() : row.parameters(layer, inputs);
}

double flops_of(const Layer& layer, std::span<const Shape> inputs, const Shape& output) {
  const LayerRow& row = row_of(layer.kind);
  return row.flops == nullptr ? 0 : row.flops(layer, inputs, output);
}

}  // namespace detol::inline encoding

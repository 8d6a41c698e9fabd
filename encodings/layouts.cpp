#include "encodings/layouts.h"

#include <algorithm>

namespace detol {
namespace {

using enum LayerKind;

// Of one channel of an image or of its gradient, with its margins.
double padded_plane(const Layer& layer, const Shape& in, const Shape& out) {
  const auto with = [](std::int64_t size, std::int64_t margin) {
    return static_cast<double>(size + 2 * margin);
  };
  const auto reach = [&](std::int64_t window) {
    return (window - 1) * layer.dilation / layer.stride + 1;
  };
  const double image =
      with(in.height, padding_above(layer)) * with(in.width, padding_beside(layer));
  const double gradient =
      with(out.height, reach(height_of(layer))) * with(out.width, reach(layer.kernel));
  return std::max(image, gradient);
}

}  // namespace

std::int64_t padded(std::int64_t channels) {
  return (channels + 15) / 16 * 16;
}

double blocked_floats(const Shape& shape) {
  return static_cast<double>(padded(shape.channels) * shape.height * shape.width);
}

bool is_depthwise(const Layer& layer, const Shape& in) {
  return layer.groups > 1 && layer.groups == in.channels && layer.channels == in.channels;
}

bool is_spread(const Layer& layer, const Shape& in) {
  if (layer.kind != kConv || is_depthwise(layer, in)) return false;
  const std::int64_t groups = layer.groups;
  const bool is_pixel = in.height * in.width == 1 && layer.kernel * height_of(layer) > 1;
  const bool fits = in.channels / groups % 16 == 0 && layer.channels / groups % 16 == 0;
  return is_pixel || (groups > 1 && !fits);
}

bool may_be_product(const Layer& layer, const Shape& in) {
  if (layer.kind != kConv || is_depthwise(layer, in) || in.height * in.width == 1) return false;
  const auto is_odd = [&](std::int64_t window, std::int64_t size) {
    return window > 7 || layer.dilation * (window - 1) >= size;
  };
  const bool skips = layer.stride > 1 && in.height == 1;
  return layer.dilation > 1 || skips || is_odd(height_of(layer), in.height) ||
         is_odd(layer.kernel, in.width);
}

double dense_weights(const Layer& layer, const Shape& in) {
  const bool is_pixel = in.height * in.width == 1;
  const std::int64_t taps = is_pixel ? 1 : layer.kernel * height_of(layer);
  return static_cast<double>(padded(layer.channels)) * static_cast<double>(padded(in.channels)) *
         static_cast<double>(taps);
}

double parameter_floats(const Layer& layer, const ParameterSpec& spec) {
  if (spec.name != "weight") return static_cast<double>(padded(spec.elements()));
  const std::int64_t out = padded(spec.shape[0]), inputs_and_taps = spec.elements() / spec.shape[0];
  if (layer.kind == kDense || spec.shape[1] <= kImageChannels || layer.groups > 1)
    return static_cast<double>(out * inputs_and_taps);
  return static_cast<double>(out * padded(spec.shape[1]) * spec.shape[2] * spec.shape[3]);
}

double scratch_of(const Layer& layer, const Shape& in, const Shape& out) {
  const auto ins = static_cast<double>(padded(in.channels)),
             outs = static_cast<double>(padded(out.channels));
  if (layer.kind == kDense) return std::max(256.0 * 3 * 16, 128 * (48 + outs));
  if (layer.kind != kConv) return 0;
  if (is_depthwise(layer, in)) return 16 * padded_plane(layer, in, out);
  const auto positions = static_cast<double>(in.height * in.width);
  const auto taps = positions == 1 ? 1.0 : static_cast<double>(layer.kernel * height_of(layer));
  const double product =
      ins * taps * static_cast<double>(out.height * out.width) + 4 * ins * outs * taps + 256;
  const double picked = taps == 1 && layer.stride > 1 ? 80 * positions : 0;
  const double tiles =
      taps == 9 && layer.groups == 1 ? 45 * ins * outs + 36 * 48 * (ins + outs + 1) : 0;
  const double image = in.channels <= kImageChannels
                           ? static_cast<double>(in.channels) * padded_plane(layer, in, out)
                           : 0;
  return std::max({product, picked, tiles, image});
}

}  // namespace detol

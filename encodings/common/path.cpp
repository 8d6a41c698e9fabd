#include "encodings/common/path.h"

#include <fmt/format.h>

namespace detol::inline encoding {
namespace {

// Returns the Layer::kernel_height of a window over this image.
std::int64_t window_height(const Shape& image) {
  return image.height == 1 && image.width > 1 ? 1 : 0;
}

}  // namespace

void Path::add(const Layer& layer, std::string_view name) {
  end_ = builder_.add(layer, {end_}, fmt::format("{}.{}", scope_, name));
}

void Path::join(LayerKind kind, std::vector<NodeId> inputs, std::string_view name) {
  end_ = builder_.add({.kind = kind}, std::move(inputs), fmt::format("{}.{}", scope_, name));
}

void Path::conv(const Conv& c, std::string_view name) {
  add({.kind = LayerKind::kConv,
       .channels = c.channels,
       .kernel = c.kernel,
       .kernel_height = window_height(shape()),
       .stride = c.stride,
       .groups = c.groups,
       .dilation = c.dilation,
       .bias = c.bias},
      name);
}

void Path::pool(LayerKind kind, std::int64_t kernel, std::int64_t stride, std::string_view name) {
  add({.kind = kind, .kernel = kernel, .kernel_height = window_height(shape()), .stride = stride},
      name);
}

void Path::dense(std::int64_t channels, bool bias, std::string_view name) {
  add({.kind = LayerKind::kDense, .channels = channels, .bias = bias}, name);
}

void Path::batch_norm(std::string_view name) {
  add({.kind = LayerKind::kBatchNorm}, name);
}

void Path::activate(Activation activation, std::string_view name) {
  add({.kind = LayerKind::kActivation, .activation = activation}, name);
}

void Path::dropout(double rate) {
  if (rate > 0) add({.kind = LayerKind::kDropout, .rate = rate}, "dropout");
}

void Path::projection(std::int64_t channels, std::int64_t stride) {
  conv({.channels = channels, .stride = stride}, "shortcut.conv");
  batch_norm("shortcut.bn");
}

}  // namespace detol::inline encoding

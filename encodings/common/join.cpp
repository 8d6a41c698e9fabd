// Joining. Sizes come from windows that round up (stride 2 under kernel 3: 7 -> 4) and windows that
// round down (2 x 2: 7 -> 3), so that tensors of any two sizes may have to be joined.
//
//   28 x 14 -> 7 x 4     one max_pool of stride 4, kernel 5
//   7 x 7   -> 3 x 4     one of stride 2: two high (rounds down), three wide (rounds up)
//   7 x 7   -> 5 x 5     two of stride 1 and kernel 2: each takes one line and one column
//   7 x 7   -> 1 x 1     global_avg_pool, to join with a vector
//
// A stride holds for both directions, so the largest one is taken that leaves both at least as
// large as wanted; a single direction is shortened by windows of stride 1, a line at a time.
// Price: one layer where a stride fits, one for each line where none does; never more than height +
// width.
//
// For an addition, a 1x1 conv - bn, the projection shortcut (He et al., 2016, arXiv 1512.03385),
// brings every tensor to the channels of the widest. CGP-CNN fills the missing channels with zeros
// instead (Suganuma et al., 2017, arXiv 1704.00764): free of parameters, but the surplus channels
// of the wide input are then added to nothing, and no other layer of ours would need such padding.

#include "encodings/common/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "encodings/common/path.h"

namespace detol::inline encoding {
namespace {

std::int64_t rounded_up(std::int64_t size, std::int64_t stride) {
  return (size + stride - 1) / stride;
}

// Returns the kernel of one direction under a stride. An odd kernel rounds size / stride up, an
// even one (size - 1) / stride; each is at least as wide as the stride, so that only the last line
// may be left out.
std::int64_t kernel_for(std::int64_t size, std::int64_t wanted, std::int64_t stride) {
  if (size == wanted) return 1;
  if (rounded_up(size, stride) > wanted) return stride + stride % 2;
  return std::max<std::int64_t>(3, stride + 1 - stride % 2);
}

// Returns the largest stride that leaves the image at least as large as wanted.
std::int64_t stride_for(const Shape& image, std::int64_t height, std::int64_t width) {
  std::int64_t stride = 1;
  while (stride < 1023 && rounded_up(image.height, stride + 1) >= height &&
         rounded_up(image.width, stride + 1) >= width)
    ++stride;
  return stride;
}

std::int64_t widest(const NetworkBuilder& builder, const std::vector<NodeId>& nodes) {
  std::int64_t channels = 0;
  for (NodeId node : nodes) channels = std::max(channels, builder.shape(node).channels);
  return channels;
}

}  // namespace

NodeId downsample(NetworkBuilder& builder, NodeId node, std::int64_t height, std::int64_t width,
                  const std::string& scope) {
  Path path(builder, node, scope);
  if (height == 1 && width == 1 && (path.shape().height > 1 || path.shape().width > 1)) {
    path.add({.kind = LayerKind::kGlobalAvgPool}, "pool");
    return path.end();
  }
  for (int step = 0; path.shape().height > height || path.shape().width > width; ++step) {
    const Shape image = path.shape();
    const std::int64_t stride = stride_for(image, height, width);
    path.add({.kind = LayerKind::kMaxPool,
              .kernel = kernel_for(image.width, width, stride),
              .kernel_height = kernel_for(image.height, height, stride),
              .stride = stride},
             fmt::format("pool{}", step));
  }
  return path.end();
}

NodeId join(NetworkBuilder& builder, JoinKind kind, std::vector<NodeId> inputs, std::string scope) {
  assert(!inputs.empty());
  if (inputs.size() == 1) return inputs.front();
  Shape smallest = builder.shape(inputs.front());
  for (NodeId input : inputs) {
    smallest.height = std::min(smallest.height, builder.shape(input).height);
    smallest.width = std::min(smallest.width, builder.shape(input).width);
  }
  const std::int64_t channels = widest(builder, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string side = fmt::format("{}.in{}", scope, i);
    Path path(builder, downsample(builder, inputs[i], smallest.height, smallest.width, side), side);
    if (kind == JoinKind::kAdd && path.shape().channels != channels) path.projection(channels, 1);
    inputs[i] = path.end();
  }
  Path path(builder, inputs.front(), std::move(scope));
  if (kind == JoinKind::kAdd) {
    path.join(LayerKind::kAdd, std::move(inputs), "add");
  } else {
    path.join(LayerKind::kConcat, std::move(inputs), "concat");
  }
  return path.end();
}

}  // namespace detol::inline encoding

#include "encodings/graph/graph_operations.h"

namespace detol::inline encoding {

bool sets_channels(const VertexOperation& operation) {
  return operation.form == VertexForm::kConv || operation.form == VertexForm::kSeparable;
}

void add_vertex_operation(Path& path, const VertexOperation& operation, std::int64_t channels) {
  const auto [name, form, kernel, stride, dilation] = operation;
  const std::int64_t before = path.shape().channels;
  switch (form) {
    case VertexForm::kSkip:
      return;
    case VertexForm::kMaxPool:
      return path.pool(LayerKind::kMaxPool, kernel, stride, "pool");
    case VertexForm::kAvgPool:
      return path.pool(LayerKind::kAvgPool, kernel, stride, "pool");
    case VertexForm::kSeparable:
      path.conv({.channels = before, .kernel = kernel, .stride = stride, .groups = before},
                "depthwise");
      path.conv({.channels = channels}, "pointwise");
      break;
    case VertexForm::kConv:
      path.conv({.channels = channels, .kernel = kernel, .stride = stride, .dilation = dilation},
                "conv");
      break;
  }
  path.batch_norm("bn");
  path.activate(Activation::kRelu, "relu");
}

}  // namespace detol::inline encoding

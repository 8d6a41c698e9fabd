#include "encodings/cell/cell_operations.h"

#include <string>

namespace detol::inline encoding {
namespace {

// Adds depthwise k - 1x1 conv - bn.
void add_depthwise(Path& path, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                   const std::string& suffix) {
  const std::int64_t channels = path.shape().channels;
  path.conv({.channels = channels,
             .kernel = kernel,
             .stride = stride,
             .groups = channels,
             .dilation = dilation},
            "depthwise" + suffix);
  path.conv({.channels = channels}, "pointwise" + suffix);
  path.batch_norm("bn" + suffix);
}

void add_separable(Path& path, std::int64_t kernel, std::int64_t stride) {
  add_depthwise(path, kernel, stride, 1, "1");
  path.activate(Activation::kRelu, "relu2");
  add_depthwise(path, kernel, 1, 1, "2");
}

void add_normal(Path& path, std::int64_t kernel, std::int64_t stride) {
  path.conv({.channels = path.shape().channels, .kernel = kernel, .stride = stride}, "conv");
  path.batch_norm("bn");
}

void add_two_sided(Path& path, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t channels = path.shape().channels;
  const bool is_sequence = path.shape().height == 1 && path.shape().width > 1;
  path.add({.kind = LayerKind::kConv,
            .channels = channels,
            .kernel = kernel,
            .kernel_height = 1,
            .stride = stride},
           "wide");
  path.add({.kind = LayerKind::kConv,
            .channels = channels,
            .kernel = 1,
            .kernel_height = is_sequence ? 1 : kernel},
           "high");
  path.batch_norm("bn");
}

}  // namespace

bool begins_with_relu(const Operation& operation, std::int64_t stride) {
  using enum OperationForm;
  if (operation.form == kSkip) return stride > 1;
  return operation.form != kNone && operation.form != kMaxPool && operation.form != kAvgPool;
}

void add_operation(Path& path, const Operation& operation, std::int64_t stride) {
  switch (operation.form) {
    case OperationForm::kNone:
      return;
    case OperationForm::kSkip:
      if (stride > 1) add_normal(path, 1, stride);
      return;
    case OperationForm::kMaxPool:
      return path.pool(LayerKind::kMaxPool, operation.kernel, stride, "pool");
    case OperationForm::kAvgPool:
      return path.pool(LayerKind::kAvgPool, operation.kernel, stride, "pool");
    case OperationForm::kConv:
      return add_normal(path, operation.kernel, stride);
    case OperationForm::kSeparable:
      return add_separable(path, operation.kernel, stride);
    case OperationForm::kDilated:
      return add_depthwise(path, operation.kernel, stride, 2, "");
    case OperationForm::kFactorized:
      return add_two_sided(path, operation.kernel, stride);
  }
}

}  // namespace detol::inline encoding

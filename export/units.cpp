#include <fmt/format.h>

#include "export/export.h"

namespace detol::inline exporting {

// Uses deviation (W x + b) + mean = (deviation W) x + (deviation b + mean), row by row.
Result<void> fold_target_scale(const Preprocessing& data, Model& model) {
  const std::vector<float>& mean = data.target_mean;
  if (mean.empty()) return {};
  const Layer& last = model.network.output().layer;
  const std::size_t outputs = mean.size();
  if (last.kind != LayerKind::kDense || !last.bias ||
      static_cast<std::size_t>(last.channels) != outputs) {
    return fail(ErrorCode::kExport,
                fmt::format("a regression of {} numbers must end with a dense layer of as many "
                            "outputs and a bias; this network ends with {} of {}",
                            outputs, to_text(last.kind), last.channels));
  }
  Tensor& weight = model.weights[model.weights.size() - 2];
  Tensor& bias = model.weights.back();
  const std::size_t inputs = weight.data.size() / outputs;
  for (std::size_t k = 0; k < outputs; ++k) {
    const float deviation = data.target_deviation[k];
    for (std::size_t i = 0; i < inputs; ++i) weight.data[k * inputs + i] *= deviation;
    bias.data[k] = bias.data[k] * deviation + mean[k];
  }
  return {};
}

}  // namespace detol::inline exporting

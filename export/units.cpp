#include <fmt/format.h>

#include <algorithm>

#include "export/export.h"
#include "trainer/ensemble.h"

namespace detol::inline exporting {
namespace {

Tensor& tensor_called(const std::string& name, Weights& weights) {
  return *std::ranges::find(weights, name, &Tensor::name);
}

// Uses deviation (W x + b) + mean = (deviation W) x + (deviation b + mean), row by row.
Result<void> fold_into(const Node& last, const Preprocessing& data, Weights& weights) {
  const std::size_t outputs = data.target_mean.size();
  if (last.layer.kind != LayerKind::kDense || !last.layer.bias ||
      static_cast<std::size_t>(last.layer.channels) != outputs) {
    return fail(ErrorCode::kExport,
                fmt::format("a regression of {} numbers must end with a dense layer of as many "
                            "outputs and a bias; this network ends with {} of {}",
                            outputs, to_text(last.layer.kind), last.layer.channels));
  }
  Tensor& weight = tensor_called(last.name + ".weight", weights);
  Tensor& bias = tensor_called(last.name + ".bias", weights);
  const std::size_t inputs = weight.data.size() / outputs;
  for (std::size_t k = 0; k < outputs; ++k) {
    const float deviation = data.target_deviation[k];
    for (std::size_t i = 0; i < inputs; ++i) weight.data[k * inputs + i] *= deviation;
    bias.data[k] = bias.data[k] * deviation + data.target_mean[k];
  }
  return {};
}

}  // namespace

Result<void> fold_target_scale(const Preprocessing& data, Model& model) {
  if (data.target_mean.empty()) return {};
  const Node& output = model.network.output();
  if (model.shares.size() < 2) return fold_into(output, data, model.weights);
  for (const NodeId member : output.inputs)
    DETOL_TRY(fold_into(model.network.nodes()[member], data, model.weights));
  return {};
}

bool has_input_offsets(const Model& model) {
  return !model.offsets.inputs.empty() && (!model.table || model.table->is_linear());
}

std::int64_t outputs_of(const Model& model) {
  const std::int64_t outputs = model.network.output().shape.elements();
  return model.shares.empty() ? outputs : outputs / static_cast<std::int64_t>(model.shares.size());
}

std::vector<float> outputs_from(const Model& model, std::vector<float> of_network) {
  if (model.shares.empty()) return of_network;
  return vote(model.task, model.shares, static_cast<std::size_t>(outputs_of(model)), of_network);
}

}  // namespace detol::inline exporting

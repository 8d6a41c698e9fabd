#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/table.h"
#include "export/formats.h"

namespace detol::inline exporting {
namespace {

Result<void> check_tensor(const Tensor& tensor, const NetworkParameter& parameter) {
  const bool fits = tensor.name == parameter.name && tensor.shape == parameter.spec.shape &&
                    tensor.data.size() == static_cast<std::size_t>(parameter.spec.elements());
  if (!fits) {
    return fail(ErrorCode::kInput, fmt::format("tensor {} does not fit the network's {}",
                                               in_quotes(tensor.name), in_quotes(parameter.name)));
  }
  if (!std::all_of(tensor.data.begin(), tensor.data.end(),
                   [](float x) { return std::isfinite(x); })) {
    return fail(ErrorCode::kInput,
                fmt::format("tensor {} holds NaN or infinity: its training diverged",
                            in_quotes(tensor.name)));
  }
  return {};
}

Result<void> check_normalisation(const Model& model) {
  const auto channels = static_cast<std::size_t>(model.network.input_shape().channels);
  if (model.mean.size() != channels || model.deviation.size() != channels) {
    return fail(ErrorCode::kInput,
                fmt::format("the network has {} input channels, the normalisation {} means and {} "
                            "deviations",
                            channels, model.mean.size(), model.deviation.size()));
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (std::isfinite(model.mean[c]) && std::isfinite(model.deviation[c]) && model.deviation[c] > 0)
      continue;
    return fail(ErrorCode::kInput, fmt::format("channel {} has mean {} and deviation {}", c,
                                               model.mean[c], model.deviation[c]));
  }
  return {};
}

// Checks that the preparation of the data gives what the network reads.
Result<void> check_preparation(const Model& model) {
  const Shape& input = model.network.input_shape();
  if (model.table && (input != Shape{static_cast<std::int64_t>(model.table->inputs()), 1, 1}))
    return fail(ErrorCode::kInput, fmt::format("its table gives {} inputs, the network reads {}",
                                               model.table->inputs(), to_text(input)));
  if (!model.pictures) return {};
  const auto& [size, fit, channels] = *model.pictures;
  const bool fits =
      channels == input.channels && (size == 0 || (size == input.height && size == input.width));
  if (fits) return {};
  return fail(ErrorCode::kInput, fmt::format("its pictures are made {} x {} x {}, the network "
                                             "reads {}",
                                             channels, size, size, to_text(input)));
}

// Checks that there is an offset of every column or channel and of every target, or of none.
Result<void> check_offsets(const Model& model) {
  const auto& [inputs, targets] = model.offsets;
  const std::size_t columns = model.table ? model.table->columns.size() : model.mean.size();
  const bool may_have_targets = model.task == TaskKind::kRegression;
  const auto is_finite = [](double offset) { return std::isfinite(offset); };
  const bool fit = (inputs.empty() || (inputs.size() == columns && !model.reads_pixels)) &&
                   (targets.empty() ||
                    (may_have_targets && std::cmp_equal(targets.size(), outputs_of(model)))) &&
                   std::ranges::all_of(inputs, is_finite) &&
                   std::ranges::all_of(targets, is_finite);
  if (fit) return {};
  return fail(ErrorCode::kInput, fmt::format("{} and {} offsets do not belong to its data",
                                             inputs.size(), targets.size()));
}

bool joins_members(const Network& network, std::size_t members) {
  const Node& last = network.output();
  const auto shape_of = [&](NodeId member) { return network.nodes()[member].shape; };
  return members == 1 || (last.layer.kind == LayerKind::kConcat && last.inputs.size() == members &&
                          std::ranges::all_of(last.inputs, [&](NodeId member) {
                            return shape_of(member) == shape_of(last.inputs.front());
                          }));
}

// Checks that an ensemble has a share of every member, and that they add up to 1.
Result<void> check_shares(const Model& model) {
  if (model.shares.empty()) return {};
  double sum = 0;
  for (const float share : model.shares) sum += share >= 0 ? double{share} : NAN;
  if (std::abs(sum - 1) <= 1e-5 && joins_members(model.network, model.shares.size())) return {};
  return fail(ErrorCode::kInput,
              fmt::format("{} shares of an ensemble: they do not add up to 1, or its network has "
                          "not as many members",
                          model.shares.size()));
}

// Checks that there is a name for every class, or for none.
Result<void> check_classes(const Model& model) {
  const auto outputs = static_cast<std::size_t>(outputs_of(model));
  const std::size_t classes = model.task == TaskKind::kBinary ? 2 : outputs;
  if (model.class_names.empty() || model.class_names.size() == classes) return {};
  return fail(ErrorCode::kInput,
              fmt::format("{} names for {} classes", model.class_names.size(), classes));
}

Result<void> check_threshold(const Model& model) {
  const Task task{model.network.input_shape(), static_cast<int>(outputs_of(model)), model.task};
  if (model.threshold == kUsualThreshold || has_threshold(task)) return {};
  return fail(ErrorCode::kInput,
              "a threshold is of two classes or of labels, and the model has neither");
}

Result<void> check_weights(const Model& model) {
  const std::vector<NetworkParameter> parameters = model.network.parameters();
  if (model.weights.size() != parameters.size()) {
    return fail(ErrorCode::kInput, fmt::format("{} tensors for a network of {}",
                                               model.weights.size(), parameters.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    DETOL_TRY(check_tensor(model.weights[i], parameters[i]));
  return {};
}

}  // namespace

Result<void> check_model(const Model& model, bool needs_weights) {
  if (needs_weights || !model.weights.empty()) DETOL_TRY(check_weights(model));
  DETOL_TRY(check_preparation(model));
  DETOL_TRY(check_offsets(model));
  DETOL_TRY(check_shares(model));
  DETOL_TRY(check_classes(model));
  DETOL_TRY(check_threshold(model));
  return check_normalisation(model);
}

}  // namespace detol::inline exporting

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

}  // namespace

Result<void> check_model(const Model& model) {
  const std::vector<NetworkParameter> parameters = model.network.parameters();
  if (model.weights.size() != parameters.size()) {
    return fail(ErrorCode::kInput, fmt::format("{} tensors for a network of {}",
                                               model.weights.size(), parameters.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    DETOL_TRY(check_tensor(model.weights[i], parameters[i]));
  return check_normalisation(model);
}

}  // namespace detol::inline exporting

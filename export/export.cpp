#include "export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/file.h"
#include "export/formats.h"

namespace detol {
namespace {

Error as_export(const Error& error) {
  return {ErrorCode::kExport, error.message};
}

Result<void> check_tensor(const Tensor& tensor, const NetworkParameter& parameter) {
  const bool fits = tensor.name == parameter.name && tensor.shape == parameter.spec.shape &&
                    tensor.data.size() == static_cast<std::size_t>(parameter.spec.elements());
  if (!fits) {
    return fail(ErrorCode::kExport, fmt::format("tensor '{}' does not fit the network's '{}'",
                                                tensor.name, parameter.name));
  }
  if (!std::all_of(tensor.data.begin(), tensor.data.end(),
                   [](float x) { return std::isfinite(x); })) {
    return fail(
        ErrorCode::kExport,
        fmt::format("tensor '{}' holds NaN or infinity: its training diverged", tensor.name));
  }
  return {};
}

Result<void> check_normalisation(const Model& model) {
  const auto channels = static_cast<std::size_t>(model.network.input_shape().channels);
  if (model.mean.size() != channels || model.deviation.size() != channels) {
    return fail(ErrorCode::kExport,
                fmt::format("the network has {} input channels, the normalisation {} means and {} "
                            "deviations",
                            channels, model.mean.size(), model.deviation.size()));
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (std::isfinite(model.mean[c]) && std::isfinite(model.deviation[c]) && model.deviation[c] > 0)
      continue;
    return fail(ErrorCode::kExport, fmt::format("channel {} has mean {} and deviation {}", c,
                                                model.mean[c], model.deviation[c]));
  }
  return {};
}

// Everything a format may rely on.
Result<void> check_model(const Model& model) {
  const std::vector<NetworkParameter> parameters = model.network.parameters();
  if (model.weights.size() != parameters.size()) {
    return fail(ErrorCode::kExport, fmt::format("{} tensors for a network of {}",
                                                model.weights.size(), parameters.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    DETOL_TRY(check_tensor(model.weights[i], parameters[i]));
  return check_normalisation(model);
}

using Render = Result<std::string> (*)(const Model&);
using Check = Result<void> (*)(std::string_view);

template <Render render>
Result<void> write(const Model& model, const std::filesystem::path& path) {
  DETOL_TRY(check_model(model));
  DETOL_ASSIGN(const std::string bytes, render(model));
  return write_file_durably(path, bytes).map_error(as_export);
}

// Equal models give equal bytes, so a file holds its model exactly if it equals a fresh one.
template <Render render, Check check>
Result<void> verify(const Model& model, const std::filesystem::path& path) {
  DETOL_TRY(check_model(model));
  DETOL_ASSIGN(const std::string bytes, read_file(path).map_error(as_export));
  if (const Result<void> checked = check(bytes); !checked)
    return fail(ErrorCode::kExport, path.string() + ": " + checked.error().message);
  DETOL_ASSIGN(const std::string expected, render(model));
  if (bytes == expected) return {};
  const auto [at, unused] =
      std::mismatch(bytes.begin(), bytes.end(), expected.begin(), expected.end());
  return fail(ErrorCode::kExport,
              fmt::format("{} differs from the model at byte {} of {}; export it again",
                          path.string(), at - bytes.begin(), expected.size()));
}

constexpr std::array kExporters = {
    ExporterRow{"onnx", "network and weights for ONNX Runtime and other tools", ".onnx",
                write<onnx_bytes>, verify<onnx_bytes, check_onnx>},
    ExporterRow{"json", "layers, shapes, costs, hyperparameters and metrics, readable", ".json",
                write<json_bytes>, verify<json_bytes, check_json>},
    ExporterRow{"dot", "the graph of layers, for Graphviz", ".dot", write<dot_bytes>,
                verify<dot_bytes, check_dot>},
};

}  // namespace

std::span<const ExporterRow> exporters() {
  return kExporters;
}

std::vector<std::pair<std::string, std::string>> settings_of(const Layer& layer) {
  const Layer plain{.kind = layer.kind};
  std::vector<std::pair<std::string, std::string>> settings;
  const auto number = [&](const char* name, auto value, auto usual) {
    if (value != usual) settings.emplace_back(name, fmt::format("{}", value));
  };
  number("channels", layer.channels, plain.channels);
  number("kernel", layer.kernel, plain.kernel);
  number("stride", layer.stride, plain.stride);
  number("groups", layer.groups, plain.groups);
  number("dilation", layer.dilation, plain.dilation);
  number("bias", layer.bias, plain.bias);
  if (layer.kind == LayerKind::kActivation)
    settings.emplace_back("function", std::string(to_text(layer.activation)));
  number("rate", layer.rate, plain.rate);
  return settings;
}

}  // namespace detol

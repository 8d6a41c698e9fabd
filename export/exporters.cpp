#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/file.h"
#include "core/log.h"
#include "export/export.h"
#include "export/formats.h"
#include "export/onnx_runtime.h"

namespace detol::inline exporting {
namespace {

Error as_export(const Error& error) {
  Error mapped = error;
  mapped.code = ErrorCode::kExport;
  return mapped;
}

using Render = Result<std::string> (*)(const Model&);
using Compare = Result<void> (*)(std::string_view, const Model&);

template <Render render, bool needs_weights = true>
Result<void> write(const Model& model, const std::filesystem::path& path) {
  DETOL_TRY(check_model(model, needs_weights).map_error(as_export));
  DETOL_ASSIGN(const std::string bytes, render(model));
  return write_file_durably(path, bytes).map_error(as_export);
}

// Reads a file back and compares it with the model, at last byte by byte, since equal models give
// equal bytes.
template <Render render, Compare compare, bool needs_weights = true>
Result<void> verify(const Model& model, const std::filesystem::path& path) {
  DETOL_TRY(check_model(model, needs_weights).map_error(as_export));
  DETOL_ASSIGN(const std::string bytes, read_file(path).map_error(as_export));
  if (const Result<void> compared = compare(bytes, model); !compared) {
    return fail(ErrorCode::kExport,
                fmt::format("{}: {}; export it again", path.string(), compared.error().message));
  }
  DETOL_ASSIGN(const std::string expected, render(model));
  if (bytes == expected) return {};
  const auto [at, unused] =
      std::mismatch(bytes.begin(), bytes.end(), expected.begin(), expected.end());
  return fail(ErrorCode::kExport,
              fmt::format("{}: byte {} of {} is not the model's; export it again", path.string(),
                          at - bytes.begin(), expected.size()));
}

// Compares an ONNX file as the others, and lets ONNX Runtime run it, where that is installed.
Result<void> verify_onnx(const Model& model, const std::filesystem::path& path) {
  DETOL_TRY((verify<onnx_bytes, compare_onnx>(model, path)));
  if (!model.check) return {};
  DETOL_ASSIGN(const auto logits, onnx_runtime_logits(model, path));
  if (!logits) {
    log_info("{}: ONNX Runtime has not run it (python3 has no onnxruntime)", path.string());
    return {};
  }
  return compare_logits(*model.check, *logits).map_error([&](const Error& error) {
    return Error{ErrorCode::kExport, path.string() + ": in ONNX Runtime " + error.message};
  });
}

constexpr std::array kExporters = {
    ExporterRow{"onnx", "network and weights for ONNX Runtime and other tools", ".onnx",
                write<onnx_bytes>, verify_onnx},
    ExporterRow{"safetensors", "weights, and everything that rebuilds the network", ".safetensors",
                write<safetensors_bytes>, verify<safetensors_bytes, compare_safetensors>},
    ExporterRow{"pytorch", "a state_dict, and the class that loads it", ".pt",
                write<pytorch_weights>, verify<pytorch_weights, compare_pytorch_weights>},
    ExporterRow{"pytorch", "a class to read and edit, which loads the state_dict", ".py",
                write<pytorch_source, false>, verify<pytorch_source, compare_pytorch_source, false>,
                nullptr, false},
    ExporterRow{"json", "layers, shapes, costs, hyperparameters and metrics, readable", ".json",
                write<json_bytes, false>, verify<json_bytes, compare_json, false>, nullptr, false},
    ExporterRow{"dot", "the graph of layers, for Graphviz", ".dot", write<dot_bytes, false>,
                verify<dot_bytes, compare_dot, false>, nullptr, false},
    ExporterRow{"svg", "the same as a picture, drawn by Graphviz", ".svg", write<svg_bytes, false>,
                verify<svg_bytes, compare_svg, false>, why_no_svg, false},
};

}  // namespace

std::span<const ExporterRow> exporters() {
  return kExporters;
}

}  // namespace detol::inline exporting

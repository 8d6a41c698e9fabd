#pragma once

// ONNX Runtime as a judge of an exported file, where Python has it: our writer and our reader could
// be wrong in the same way. Private to this folder.

#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "export/export.h"

namespace detol::inline exporting {

// Returns the logits, or predictions less the offsets of targets, that onnxruntime gives for the
// inputs of the model's check: bytes, cells or numbers, as the file takes them. nullopt: there is
// no python3, or it has no onnxruntime. Errors (kExport): the run failed. REQUIRES: model.check.
Result<std::optional<std::vector<float>>> onnx_runtime_logits(const Model& model,
                                                              const std::filesystem::path& file);

}  // namespace detol::inline exporting

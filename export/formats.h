#pragma once

// The writers and checkers of the formats. Private to this folder.

#include <string>
#include <string_view>

#include "export/export.h"

namespace detol::inline exporting {

// Write a checked model as the bytes of a file.
Result<std::string> onnx_bytes(const Model& model);
Result<std::string> safetensors_bytes(const Model& model);
Result<std::string> json_bytes(const Model& model);
Result<std::string> dot_bytes(const Model& model);
Result<std::string> svg_bytes(const Model& model);
std::string why_no_svg();                                 // ExporterRow::why_not
Result<std::string> pytorch_source(const Model& model);   // model.py
Result<std::string> pytorch_weights(const Model& model);  // model.pt

// Compare bytes that were read back with the model they were written from. Errors name the first
// difference.
Result<void> compare_onnx(std::string_view bytes, const Model& model);
Result<void> compare_safetensors(std::string_view bytes, const Model& model);
Result<void> compare_json(std::string_view bytes, const Model& model);
Result<void> compare_dot(std::string_view bytes, const Model& model);
Result<void> compare_svg(std::string_view bytes, const Model& model);
Result<void> compare_pytorch_source(std::string_view bytes, const Model& model);
Result<void> compare_pytorch_weights(std::string_view bytes, const Model& model);

// Checks what the formats rely on: every tensor has its layer's name, shape and finite numbers, the
// normalisation the input's channels. Errors: kInput.
Result<void> check_model(const Model& model, bool needs_weights = true);

// Checks that two models have one network (by its canonical hash), the same metadata and equal
// tensors, and that `read` computes the check logits of `scored`, if it has any, from the same
// pixels on the reference backend. Errors (kExport) name the tensor and element, the key, or the
// image.
Result<void> compare_models(const Model& scored, const Model& read);

// Checks that logits are those of the check, up to rounding. Errors (kExport) name the image.
Result<void> compare_logits(const CheckLogits& check, const std::vector<float>& logits);

}  // namespace detol::inline exporting

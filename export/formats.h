#pragma once

// What the formats and their table share; private to this folder.

#include <string>
#include <string_view>

#include "export/export.h"

namespace detol {

// A format renders a checked model as the bytes of its file.
Result<std::string> onnx_bytes(const Model& model);
Result<std::string> safetensors_bytes(const Model& model);
Result<std::string> json_bytes(const Model& model);
Result<std::string> dot_bytes(const Model& model);

// Holds bytes that were read back to the model that they should say. Errors name the first
// difference.
Result<void> compare_onnx(std::string_view bytes, const Model& model);
Result<void> compare_safetensors(std::string_view bytes, const Model& model);
Result<void> compare_json(std::string_view bytes, const Model& model);
Result<void> compare_dot(std::string_view bytes, const Model& model);

// What a format may rely on: every tensor has its layer's name, shape and finite numbers, the
// normalisation the input's channels. Errors: kInput.
Result<void> check_model(const Model& model);

// The two models have one network (by its canonical hash), the same metadata, equal tensors, and,
// where `scored` has logits to check against, `read` computes them from the same pixels on the
// reference backend. Errors (kExport) name the tensor and element, the key, or the image.
Result<void> compare_models(const Model& scored, const Model& read);

// A layer's own settings, in the words of its fields: {"kernel", "3"}, {"stride", "2"}.
std::vector<std::pair<std::string, std::string>> settings_of(const Layer& layer);

}  // namespace detol

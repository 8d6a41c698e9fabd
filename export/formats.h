#pragma once

// What the formats and their table share; private to this folder.

#include <string>
#include <string_view>

#include "export/export.h"

namespace detol {

// A format renders a checked model as the bytes of its file.
Result<std::string> onnx_bytes(const Model& model);
Result<std::string> json_bytes(const Model& model);
Result<std::string> dot_bytes(const Model& model);

// The full check of a file that was read back.
Result<void> check_onnx(std::string_view bytes);
Result<void> check_json(std::string_view bytes);
Result<void> check_dot(std::string_view bytes);

// A layer's own settings, in the words of its fields: {"kernel", "3"}, {"stride", "2"}.
std::vector<std::pair<std::string, std::string>> settings_of(const Layer& layer);

}  // namespace detol

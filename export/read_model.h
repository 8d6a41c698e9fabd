#pragma once

// Reads exported models, for `detol export --verify` and for programs that run a model that detol
// wrote. A file is never trusted: every defect is an error of one line, and memory stays in
// proportion to the file. Any thread.
//
// A model that is read is consistent: every tensor has its layer's shape and finite numbers, the
// normalisation the input's channels. Its weights are in the order of its network.parameters();
// `check` is empty.

#include <filesystem>
#include <string_view>

#include "core/result.h"
#include "export/export.h"

namespace detol::inline exporting {

// Reads an .onnx or .safetensors file, distinguished by its first bytes. Errors (kInput) start with
// the path.
Result<Model> read_model(const std::filesystem::path& path);

// Reads every graph that our exporter can write: opset 13 or 17, the layers of
// encodings/network/layer.h, pixels normalised by the first two nodes, numbers inside the file.
// Errors (kInput): an operator, attribute or shape that detol does not write, with the node's name.
Result<Model> read_onnx(std::string_view bytes);

// Reads the safetensors files that our exporter writes. Errors (kInput): those of
// parse_safetensors, metadata that are not detol's, tensors that are not those of the architecture.
Result<Model> read_safetensors(std::string_view bytes);

}  // namespace detol::inline exporting

#pragma once

// Metadata: everything about a model but its network and weights, as one map of texts, the same in
// every format that has such a map. Private to this folder; the keys are documented in
// export/README.md.

#include <map>
#include <string>
#include <string_view>

#include "export/export.h"

namespace detol::inline exporting {

// Return the meaning of the model's input and output, and the output's name.
std::string_view input_meaning(const Model& model);
const char* output_name(const Model& model);
std::string_view output_meaning(const Model& model);

using Metadata = std::map<std::string, std::string>;

// `is_raw`: what the file is fed, as Model has it.
Metadata metadata_of(const Model& model, bool is_raw);

// Returns the shape of the network's input. Errors (kInput) likewise.
Result<Shape> input_shape_from(const Metadata& metadata);

// Fills everything but network, weights and check from the map; ignores keys without the prefix
// `detol.`. Errors (kInput): a key of detol is missing or damaged.
Result<void> read_metadata(const Metadata& metadata, Model& model);

}  // namespace detol::inline exporting

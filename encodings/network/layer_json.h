#pragma once

// A network as JSON, the list of its layers:
//
//   [{"name": "input", "op": "input", "inputs": [], "shape": [3, 32, 32]},
//    {"name": "conv1", "op": "conv", "inputs": ["input"], "channels": 16, "kernel": 3,
//     "shape": [16, 32, 32]}, ...]
//
// in topological order, the input first, the output last; a setting that is absent has the
// default of encodings/network/layer.h. export/architecture.h reads it.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline encoding {

nlohmann::ordered_json layer_json(const Network& network, NodeId id);
nlohmann::ordered_json architecture_json(const Network& network);

// Returns a layer's own settings by the names of its fields: {"kernel", "3"}, {"stride", "2"}.
std::vector<std::pair<std::string, std::string>> settings_of(const Layer& layer);

}  // namespace detol::inline encoding

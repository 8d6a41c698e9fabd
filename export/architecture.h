#pragma once

// Architecture: a network as JSON and back. Private to this folder.
//
//   [{"name": "input", "op": "input", "inputs": [], "shape": [3, 32, 32]},
//    {"name": "conv1", "op": "conv", "inputs": ["input"], "channels": 16, "kernel": 3,
//     "shape": [16, 32, 32]}, ...]
//
// in topological order, the input first, the output last; a setting that is absent has the
// default of encodings/network/layer.h.

#include <nlohmann/json.hpp>

#include "encodings/network/network.h"

namespace detol::inline exporting {

nlohmann::ordered_json layer_json(const Network& network, NodeId id);
nlohmann::ordered_json architecture_json(const Network& network);

// Builds the network of such a list. Errors (kInput): a malformed list, an unknown layer, shapes
// that the layers' rules do not give, a network too large to run (check_size).
Result<Network> network_from(const nlohmann::json& architecture);

// Check that a network from a file is small enough to run: at most 2^28 numbers an image (1 GiB),
// more than any that detol trains. Errors (kInput) give the number.
Result<void> check_size(const Shape& shape);
Result<void> check_size(const Network& network);

}  // namespace detol::inline exporting

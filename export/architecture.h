#pragma once

// Architecture: a network from its list of layers in JSON (encodings/network/layer_json.h).
// Private to this folder.

#include <nlohmann/json.hpp>

#include "encodings/network/layer_json.h"
#include "encodings/network/network.h"

namespace detol::inline exporting {

// Builds the network of such a list. Errors (kInput): a malformed list, an unknown layer, shapes
// that the layers' rules do not give, a network too large to run (check_size).
Result<Network> network_from(const nlohmann::json& architecture);

// Check that a network from a file is small enough to run: at most 2^28 numbers an image (1 GiB),
// more than any that detol trains. Errors (kInput) give the number.
Result<void> check_size(const Shape& shape);
Result<void> check_size(const Network& network);

}  // namespace detol::inline exporting

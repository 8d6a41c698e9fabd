#pragma once

// A network as one line of JSON, the list of its layers (docs/exports.md), and back.

#include <string>
#include <string_view>

#include "core/result.h"
#include "encodings/network/network.h"

namespace detol::inline exporting {

std::string architecture_text(const Network& network);

// Errors (kInput): a malformed list, an unknown layer, shapes that the layers' rules do not give.
Result<Network> network_from_text(std::string_view text);

}  // namespace detol::inline exporting

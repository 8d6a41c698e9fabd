#pragma once

// The canonical hash of a network: equal for isomorphic networks (any order or naming of
// the nodes), different for different ones.

#include <cstdint>

#include "encodings/network/network.h"

namespace detol::inline encoding {

std::uint64_t canonical_hash(const Network& network);

}  // namespace detol::inline encoding

#pragma once

// The table of encodings, apart from their interface, so that no encoding includes another.

#include <span>

#include "encodings/common/encoding.h"

namespace detol::inline encoding {

// Returns every encoding, in the order in which lists and documents name them.
std::span<const EncodingRow> encodings();

}  // namespace detol::inline encoding

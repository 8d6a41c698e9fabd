#pragma once

// The table of encodings, apart from their interface, so that none of them sees the others.

#include <span>

#include "encodings/common/encoding.h"

namespace detol::inline encoding {

// Every encoding detol knows, in the order a reader should meet them.
std::span<const EncodingRow> encodings();

}  // namespace detol::inline encoding

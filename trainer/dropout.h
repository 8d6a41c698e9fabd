#pragma once

// Dropout masks, drawn from a counter-based stream so that every backend, whatever its layout
// and order, drops the same elements, and a resumed step draws what the interrupted one drew.

#include <cstdint>
#include <span>

#include "encodings/network.h"

namespace detol {

struct DropoutStream {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  NodeId node = 0;         // of the dropout layer
  std::int64_t first = 0;  // elements of the whole batch that lie before the mask
};

// Fills `mask` (a part of N x C x H x W, row-major) with 0 with probability `rate`, else 1 / (1 -
// rate).
void draw_dropout_mask(const DropoutStream& stream, double rate, std::span<float> mask);

}  // namespace detol

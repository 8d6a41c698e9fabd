#pragma once

// Copies between the plain and the blocked layout of activations. Needed only at the edges of a
// network and around dense layers, so simple loops are fast enough.

#include <cstdint>

#include "encodings/network/layer.h"

namespace detol::inline trainer::cpu {

struct Relayout {
  std::int64_t images = 0;
  Shape shape;
  std::int64_t lanes = 0;
};

void to_blocked(const Relayout& copy, const float* plain, float* blocked);
void to_plain(const Relayout& copy, const float* blocked, float* plain);

}  // namespace detol::inline trainer::cpu

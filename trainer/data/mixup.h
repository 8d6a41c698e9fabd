#pragma once

// Mixup (Zhang et al., 2018, arXiv 1710.09412): an image and another one of its batch, blended,
// whose targets are blended alike. With l from Beta(alpha, alpha), (1 - l) x + l x'. Here every
// image draws its own share and its own partner, instead of one share and one permutation for a
// batch, so that no image's numbers depend on who trains the others. Allocates nothing.

#include <cstdint>
#include <span>

#include "core/rng.h"

namespace detol::inline trainer {

struct Mix {
  std::int64_t partner = 0;  // its place in the global batch; may be the image's own
  float share = 0;           // of the partner
};

// REQUIRES: alpha > 0, batch > 0.
Mix draw_mix(Rng rng, double alpha, std::int64_t batch);

// REQUIRES: both have one size.
void blend(std::span<float> numbers, std::span<const float> partner, float share);

}  // namespace detol::inline trainer

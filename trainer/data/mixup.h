#pragma once

// Mixup (Zhang et al., 2018, arXiv 1710.09412): blends an image x, and its targets, with another
// image x' of its batch: (1 - l) x + l x', with l from Beta(alpha, alpha). Here every image draws
// its own share and its own partner, instead of one share and one permutation for a batch, so that
// no image's numbers depend on which rank trains the others. Allocates nothing.

#include <cstdint>
#include <span>

#include "core/rng.h"

namespace detol::inline trainer {

struct Mix {
  std::int64_t partner = 0;  // position in the global batch; may be the image's own
  float share = 0;           // of the partner
};

// Draws a partner of `batch` images and its share. REQUIRES: alpha > 0, batch > 0.
Mix draw_mix(Rng rng, double alpha, std::int64_t batch);

// Blends `partner` into `numbers`. REQUIRES: equal sizes.
void blend(std::span<float> numbers, std::span<const float> partner, float share);

}  // namespace detol::inline trainer

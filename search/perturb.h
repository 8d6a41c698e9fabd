#pragma once

// A genome near another one: what searchers with a model look at around their best.

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol {

// A few expressed choices changed: continuous numbers by a normal step whose size, from 0.001 to
// 0.3 of the range, is one for all of them, the others to any value. Microseconds.
Genome perturbed(const Space& space, const Genome& origin, Rng& rng);

}  // namespace detol

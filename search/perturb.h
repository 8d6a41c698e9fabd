#pragma once

// Changes to a genome that several searchers make: perturbations of the best, and mutations of a
// proposal that is known already. Thread-safe.

#include <cstdint>
#include <unordered_set>

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol::inline search {

// Returns `origin` with a few expressed choices changed: continuous numbers by a normal step of one
// common size, from 0.001 to 0.3 of the range, other choices to any value. Takes microseconds.
Genome perturbed(const Space& space, const Genome& origin, Rng& rng);

// Returns `genome`, mutated until its identity is not in `known`, kMostMutations times at most. If
// all around it is known, returns a draw from the whole space, of kMostDraws the first unknown one.
inline constexpr int kMostMutations = 50, kMostDraws = 50;
Genome mutated_until_unseen(const Space& space, Genome genome,
                            const std::unordered_set<std::uint64_t>& known, Rng& rng);

}  // namespace detol::inline search

#pragma once

// Thompson sampling: a function drawn from the posterior has its lowest value where it should be
// measured. Draws differ by themselves, so many workers need not know of each other (Kandasamy,
// Krishnamurthy, Schneider and Poczos, 2018, "Parallelised Bayesian Optimisation via Thompson
// Sampling", AISTATS, arXiv 1705.09236).

#include "search/gp_proposal.h"

namespace detol {

// The lowest among candidates drawn everywhere and near the best, of one draw for this `rng`. Of
// numbers alone O(n^2); else O(n^2 c) for c candidates, the fewer the more observations.
Genome propose_by_sample(const ProposalInput& input, Rng rng);

}  // namespace detol

#pragma once

// Thompson sampling: the next trial is where a function drawn from the posterior is lowest. Random
// draws differ, so many workers need no fantasies of each other's trials (Kandasamy,
// Krishnamurthy, Schneider and Poczos, 2018, "Parallelised Bayesian Optimisation via Thompson
// Sampling", AISTATS, arXiv 1705.09236).

#include "search/gp_proposal.h"

namespace detol::inline search {

// Returns the candidate, drawn everywhere or near the best, at which the function drawn by `rng` is
// lowest. O(n^2) for numbers alone; else O(n^2 c) for c candidates, the fewer the more
// observations.
Genome propose_by_sample(const ProposalInput& input, Rng rng);

}  // namespace detol::inline search

#pragma once

// propose() returns the genome of greatest acquisition among candidates drawn everywhere and near
// the best, after climbing from the most promising of them. In a trust region, with one objective,
// half of the proposals are Thompson samples instead.

#include "core/rng.h"
#include "encodings/space/space.h"
#include "search/gp_proposal_input.h"

namespace detol::inline search {

Genome propose(const ProposalInput& input, Rng rng);

}  // namespace detol::inline search

#pragma once

// Genomes among which a Gaussian process looks for the next: near the best observations, or in a
// trust region around the best one.

#include <cstddef>
#include <vector>

#include "core/rng.h"
#include "search/gp_proposal.h"

namespace detol {

// A box around an observation, by the positions of the space's domains; choices that are no numbers
// have all of [0, 1].
struct GpRegion {
  std::size_t centre = 0;  // the observation
  std::vector<double> low, high;
};

// Around the best, `input.side` wide in the geometric mean: as wide by each number as its length
// scale says. REQUIRES: an observation, side > 0.
GpRegion region_of(const ProposalInput& input, Rng& rng);

// The region's centre with some of its choices drawn anew, numbers within the box; the fewer the
// more observations there are, 64 to 500.
std::vector<Genome> candidates_in(const GpRegion& region, const ProposalInput& input, Rng& rng);

// Perturbations and crossings of the best observations, or with several objectives of some of the
// front.
std::vector<Genome> candidates_near_best(const ProposalInput& input, Rng& rng);

}  // namespace detol

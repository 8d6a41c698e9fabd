#pragma once

// Candidates of the searcher `gp`: genomes near the best observations, or in a trust region around
// the best one.

#include <cstddef>
#include <vector>

#include "core/rng.h"
#include "search/gp_proposal_input.h"

namespace detol::inline search {

// Returns how many of `count` candidates an ask looks at: all, unless the space has more than 512
// columns of features; then so many that their features are as many as those of `count` would be
// with 512, but 16 at least. A thousand switches with a number each have 4,000 columns.
std::size_t affordable_candidates(std::size_t count, const Features& features);

// GpRegion: a trust region, a box around an observation in the positions of the space's domains;
// choices that are no numbers have all of [0, 1].
struct GpRegion {
  std::size_t centre = 0;  // the observation
  std::vector<double> low, high;
};

// Returns the region around the best observation, or the restart's. Its widths are in proportion to
// the length scales, with the geometric mean `input.side`. REQUIRES: an observation, side > 0.
GpRegion region_of(const ProposalInput& input, Rng& rng);

// Returns copies of the region's centre with some choices drawn anew, numbers within the box: 500
// candidates, down to 64 where there are many observations.
std::vector<Genome> candidates_in(const GpRegion& region, const ProposalInput& input, Rng& rng);

// Returns perturbations and crossovers of the best observations; with several objectives, of some
// observations on the front.
std::vector<Genome> candidates_near_best(const ProposalInput& input, Rng& rng);

}  // namespace detol::inline search

#pragma once

// Thompson sampling: the next trial is where a function drawn from the posterior is lowest. Random
// draws differ, so many workers need no fantasies of each other's trials (Kandasamy,
// Krishnamurthy, Schneider and Poczos, 2018, "Parallelised Bayesian Optimisation via Thompson
// Sampling", AISTATS, arXiv 1705.09236).

#include <cstddef>
#include <functional>
#include <vector>

#include "search/gp_proposal_input.h"
#include "search/outcome_value.h"

namespace detol::inline search {

// Returns what one draw of the first objective and of each constraint says of the points: the loss,
// after the sum of what constraints are exceeded by, so that the least is the lowest of those that
// keep the constraints in the draw (SCBO; Eriksson and Poloczek, 2021, "Scalable Constrained
// Bayesian Optimization", AISTATS, arXiv 2002.08526). `sample` returns an output's values at the
// points, without the sources' predictions.
std::vector<RankedLoss> sampled_losses(
    const GpModel& model, const Points& points,
    const std::function<std::vector<double>(std::size_t output)>& sample);

// Returns the candidate, drawn everywhere or near the best, at which the function drawn by `rng` is
// lowest. O(n^2) for numbers alone; else O(n^2 c) for c candidates, the fewer the more
// observations.
Genome propose_by_sample(const ProposalInput& input, Rng rng);

}  // namespace detol::inline search

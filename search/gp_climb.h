#pragma once

// GpClimber: from a genome uphill on a model's criterion, continuous numbers by their gradient
// (L-BFGS), all others by the best single change, in turns until nothing gains. Refers to what it
// is made of. Not thread-safe.

#include <cstddef>
#include <span>
#include <vector>

#include "core/rng.h"
#include "search/gp_candidates.h"
#include "search/gp_scorer.h"

namespace detol {

class GpClimber {
 public:
  // `region`: that it must not leave; nullptr: everywhere. `rng` repairs what a change breaks.
  GpClimber(const ProposalInput& input, const GpScorer& scorer, const GpRegion* region, Rng& rng)
      : in_(input), scorer_(scorer), region_(region), rng_(rng) {}

  // So many climbs cost an ask some milliseconds. At least 2, at most 5.
  std::size_t affordable() const;

  // Never worse than its start. About thirty evaluations of O(n^2) for each round of numbers.
  Scored operator()(Scored start);

 private:
  Scored climb_numbers(const Scored& start);
  Scored step_choices(const Scored& at);
  double value_at(const Genome& genome, std::span<const std::size_t> domains,
                  std::span<const LazyGp> nearby, std::span<double> gradient) const;
  std::vector<std::size_t> continuous(const Genome& genome) const;
  Genome moved(const Genome& genome, std::span<const std::size_t> domains,
               std::span<const double> x);

  const ProposalInput& in_;
  const GpScorer& scorer_;
  const GpRegion* region_;
  Rng& rng_;
};

}  // namespace detol

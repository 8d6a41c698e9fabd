#pragma once

// GpClimber: maximises a model's criterion and the chance of success (gp_failures.h) from a
// starting genome, over continuous numbers by their gradient (L-BFGS), over all others by the best
// single change, alternating until neither gains. It refers to its constructor's arguments. Not
// thread-safe.

#include <cstddef>
#include <span>
#include <vector>

#include "core/rng.h"
#include "search/gp_candidates.h"
#include "search/gp_neighbourhoods.h"
#include "search/gp_scorer.h"

namespace detol::inline search {

class GpClimber {
 public:
  // The climb stays inside `region` (nullptr: anywhere). `rng` repairs genomes that break rules.
  GpClimber(const ProposalInput& input, const GpScorer& scorer, GpNeighbourhoods& neighbourhoods,
            const GpRegion* region, Rng& rng)
      : in_(input), scorer_(scorer), neighbourhoods_(neighbourhoods), region_(region), rng_(rng) {}

  // Returns how many climbs an ask can afford in some milliseconds: 2 to 5, fewer in a space of
  // thousands of columns.
  std::size_t affordable() const;

  // Returns a genome that is no worse than `start`, whose value counts its chance of success, after
  // about thirty evaluations of O(n^2) for each round over the numbers.
  Scored operator()(const Scored& start);

 private:
  Scored climb_numbers(const Scored& start);
  std::vector<std::size_t> choices_to_step(const Genome& genome);
  Scored step_choices(const Scored& at);
  std::vector<Scored> with_chances(std::vector<Genome> genomes) const;
  double value_at(const Genome& genome, std::span<const std::size_t> domains,
                  std::span<const LazyGp> nearby, std::span<double> gradient) const;
  std::vector<std::size_t> continuous(const Genome& genome) const;
  Genome moved(const Genome& genome, std::span<const std::size_t> domains,
               std::span<const double> x);

  const ProposalInput& in_;
  const GpScorer& scorer_;
  GpNeighbourhoods& neighbourhoods_;
  const GpRegion* region_;
  Rng& rng_;
};

}  // namespace detol::inline search

#pragma once

// ProposalInput: what a proposal of the searcher `gp` depends on.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "encodings/space/space.h"
#include "search/basins.h"
#include "search/gp_criterion.h"
#include "search/gp_failures.h"
#include "search/gp_model.h"

namespace detol::inline search {

// GpRestart: a trust region around an observation that is not the best one. Its proposals stay in
// the branch of the centre, improve on the centre, and do not lie in the leader's core (basins.h).
struct GpRestart {
  std::size_t centre = 0, leader = 0;  // observations
  const Branches& branches;            // of the space
};

// ProposalInput: the state of the searcher that a proposal depends on; all of it outlives the call.
struct ProposalInput {
  const Space& space;
  const Features& features;
  const GpModel& model;
  std::span<const Genome> genomes;                 // of the model's observations, in their order
  std::span<const Genome> candidates;              // attached to the model's processes
  const std::unordered_set<std::uint64_t>& taken;  // identities that were told or are pending
  const GpFailures& failures;                      // up to date
  GpAcquisition acquisition = GpAcquisition::kImprovement;
  double side = 0;  // of the trust region to which proposals are limited; 0: there is none

  std::optional<GpRestart> restart = std::nullopt;  // the region is this one's
  bool is_stalled = false;                 // proposals outside of a region must improve by a margin
  std::vector<std::size_t> improved = {};  // objectives_to_improve(); none: all
};

}  // namespace detol::inline search

#pragma once

// GpRestartModels: what a restart in the leader's branch proposes by. By then most observations
// polish the leader's optimum: the model's transform and its length scales are fitted to that pit,
// and the restart would descend by a model that knows little of the rest (Hartmann6: 13 of 200
// searches of 200 trials stayed in its second optimum, with this model 2). So its model leaves out
// the leader's core (basins.h), except for the leader, and has a fit of its own. The fit is kept
// until the searcher's model is fitted anew or another trial leads, so that proposals are a
// function of the searcher's model. Not thread-safe.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/rng.h"
#include "search/gp_model.h"
#include "search/gp_proposal.h"

namespace detol::inline search {

class GpRestartModels {
 public:
  // Returns the genome that the restart of the input proposes beside the pending trials.
  // REQUIRES: the input is of a restart in the leader's branch, whose centre does not lie in the
  // leader's core; there is one objective, and no source has weight.
  Genome propose(const ProposalInput& input, std::span<const Pending> pending, Rng rng);

  // An outcome that a fit was made of has changed.
  void forget() { fitted_.reset(); }

 private:
  // Fitted: the fit of the objective, and what it depends on.
  struct Fitted {
    std::size_t observations = 0, leader = 0;
    OutputFit objective;
  };

  // Fits to what was known at the last fit of the searcher's model, unless that was done before.
  void learn(const ProposalInput& input);

  std::optional<Fitted> fitted_;
};

}  // namespace detol::inline search

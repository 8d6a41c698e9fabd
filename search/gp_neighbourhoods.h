#pragma once

// GpNeighbourhoods: small models of the parts of the space that a proposal looks at, for a history
// so large that the whole model is slow. Refers to its input. Not thread-safe.

#include <deque>
#include <span>
#include <vector>

#include "search/gp_proposal_input.h"

namespace detol::inline search {

class GpNeighbourhoods {
 public:
  explicit GpNeighbourhoods(const ProposalInput& input) : in_(input) {}

  // True if the model has so many rows that its predictions are slow.
  bool are_used() const { return in_.model.output(0).rows() > kMostExact; }

  // Returns a process of each output, of the rows and observations most like the genome, or most
  // like an earlier one that correlates with it by at least kAlike; none if !are_used(). Valid
  // while this lives.
  std::span<const LazyGp> around(const Genome& genome);

 private:
  static constexpr std::size_t kMostExact = 1024;
  static constexpr std::size_t kRows = 256;  // a prediction costs a twentieth of the model's
  static constexpr double kAlike = 0.95;

  struct Neighbourhood {
    Points centre;  // one
    std::vector<LazyGp> processes;
  };

  const ProposalInput& in_;
  std::deque<Neighbourhood> known_;
};

}  // namespace detol::inline search

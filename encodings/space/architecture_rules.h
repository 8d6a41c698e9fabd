#pragma once

// ArchitectureRules: the rules between the choices of one architecture that conditions cannot
// express, and which of the choices its network depends on. Immutable; safe to share between
// threads.
//
// `codes` are those of the architecture's own choices, in their order; NaN where one is inactive.

#include <span>
#include <string>
#include <vector>

#include "core/rng.h"

namespace detol::inline encoding {

class ArchitectureRules {
 public:
  virtual ~ArchitectureRules() = default;

  // Describes the rule that the codes break ("11 edges, at most 9"); empty if they obey all.
  virtual std::string violation(std::span<const double> codes) const = 0;

  // Changes as few codes as it can until violation() is empty. Its work is bounded: it never
  // rejects and draws anew. Never changes an inactive choice, nor one that the `when` of another
  // names.
  virtual void repair(std::span<double> codes, Rng& rng) const = 0;

  // True for every choice that the network depends on. The others may take any value without a
  // change of the network, like the unconnected nodes of Cartesian genetic programming.
  // REQUIRES: violation(codes) is empty.
  virtual std::vector<bool> expressed(std::span<const double> codes) const = 0;
};

}  // namespace detol::inline encoding

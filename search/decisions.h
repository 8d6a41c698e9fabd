#pragma once

// Decisions: encodes genomes as sequences of actions, one per active choice, parents before their
// children, for searchers that decide one choice after the other.
//
//   opt: sgd, momentum: 0.93, depth: 2   is   (opt, 0) (momentum, 10) (depth, 1)
//
// Each category is an action; the range of a number is cut into at most `bins` equal bins (of its
// logarithm where `log`), each an action. Immutable; safe to share between threads.

#include <functional>
#include <vector>

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol::inline search {

struct Decision {
  std::size_t choice;  // position in Space::domains()
  std::size_t action;
  bool counts;  // expressed: the outcome depends on it
};

class Decisions {
 public:
  Decisions(Space space, std::size_t bins);

  // action_counts() has the number of actions of each choice; ordered() is true for the choices
  // whose neighbouring actions are similar.
  const std::vector<std::size_t>& action_counts() const { return action_counts_; }
  const std::vector<bool>& ordered() const { return ordered_; }

  std::vector<Decision> read(const Genome& genome) const;

  // Returns the genome of the actions that `choose(choice)` returns, called in the order of read().
  // A number is drawn uniformly from its bin; then the genome is repaired to obey the space's
  // rules.
  Genome sample(const std::function<std::size_t(std::size_t)>& choose, Rng& rng) const;

 private:
  Space space_;
  std::vector<std::size_t> action_counts_;
  std::vector<bool> ordered_;
  std::vector<std::size_t> order_;  // every parent before its children
};

}  // namespace detol::inline search

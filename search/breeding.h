#pragma once

// Crossover and mutation for the searchers that keep a population. Thread-safe.

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol::inline search {

struct Breeding {
  double crossover_rate = 0.9;  // else the child is its first parent, mutated
  double crossover_eta = 3;     // distribution index: greater keeps children nearer their parents
  double mutation_eta = 5;      // distribution index: greater keeps mutated numbers nearer
};

// Returns a child: each group of choices comes from either parent (Space::crossover), numbers also
// from between and around them by simulated binary crossover (Deb and Agrawal, 1995, "Simulated
// Binary Crossover for Continuous Search Space", Complex Systems 9); then one choice on average is
// mutated, numbers by the polynomial of Deb and Goyal (1996). Both work on the logarithm of `log`
// domains.
Genome child_of(const Space& space, const Genome& one, const Genome& other,
                const Breeding& breeding, Rng& rng);

}  // namespace detol::inline search

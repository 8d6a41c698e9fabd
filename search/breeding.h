#pragma once

// How two parents make a child, for the searchers that keep a population. Thread-safe.

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol {

struct Breeding {
  double crossover_rate = 0.9;  // otherwise the child is its first parent, mutated
  double crossover_eta = 3;     // how near its parents a child of numbers is
  double mutation_eta = 5;      // how near its origin a mutated number is
};

// A child: each group of choices from either parent (Space::crossover), numbers also between and
// around them by simulated binary crossover (Deb and Agrawal, 1995, "Simulated Binary Crossover
// for Continuous Search Space", Complex Systems 9), then on average one choice mutated, numbers
// by the polynomial of Deb and Goyal (1996). Where `log`, both are of the logarithm.
Genome child_of(const Space& space, const Genome& one, const Genome& other,
                const Breeding& breeding, Rng& rng);

}  // namespace detol

#pragma once

// Importance: how much each choice of a space matters on its own for being among the best quarter
// of the trials. Main effects only: what two choices do together counts for neither. Pure
// functions: the order of the trials changes nothing, and equal trials give equal bits.

#include <cstddef>
#include <span>
#include <vector>

#include "encodings/space/genome.h"
#include "encodings/space/space.h"

namespace detol::inline surrogate {

// A choice that fewer trials have is not measured.
inline constexpr std::size_t kLeastTrialsForImportance = 10;

struct ChoiceImportance {
  std::size_t domain = 0;    // position in Space::domains()
  std::size_t trials = 0;    // trials with a finite loss that express the choice
  double value = 0;          // in [0, 1]; NaN if it is not measured, as the two below
  double low = 0, high = 0;  // 95 % bootstrap interval
};

// Returns one row per choice, the most important first, those that are not measured last; of equals
// the first of the space. Trials whose loss (to be minimised) is not finite are left out, and so
// are choices that a candidate does not express (Space::expressed). The value is
//
//   share of the trials that express the choice
//     x share of the variance of "is in their best quarter" that the choice explains there
//
// About 200 n per choice for n trials. REQUIRES: one loss per genome; genomes of `space`.
std::vector<ChoiceImportance> importance_of(const Space& space, std::span<const Genome> genomes,
                                            std::span<const double> losses);

}  // namespace detol::inline surrogate

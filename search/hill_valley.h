#pragma once

// The hill-valley test: two observations lie in one basin if the objective nowhere rises above both
// on the line between them (Ursem, 1999, "Multinational Evolutionary Algorithms", CEC). Here the
// posterior mean stands for the objective, so that the test costs no evaluation. It also tells
// apart what distance does not (basins.h): a long valley along a choice of little influence is one
// basin.

#include "search/gp_model.h"

namespace detol::inline search {

// Returns true if `a` and `b`, of the first output, lie in one basin; false if they differ in an
// unordered choice or in which choices exist. REQUIRES: model.fantasize() was called since the last
// append(). O(n) for n rows of the model.
bool is_one_basin(const Space& space, const Features& features, const GpModel& model,
                  const Genome& a, const Genome& b);

}  // namespace detol::inline search

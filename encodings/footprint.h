#pragma once

// Footprint: the floats that a backend holds to train a network. Private to this folder.

#include "encodings/network.h"
#include "encodings/recipe.h"

namespace detol {

// At most; what that counts is said in cost.h and at the head of footprint.cpp.
double training_floats(const Network& network, const Recipe& recipe);

}  // namespace detol

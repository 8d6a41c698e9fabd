#pragma once

// UpdateNumbers are the numbers of the optimiser's step (optimizer.h) that change from step to
// step.

#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"

namespace detol::inline trainer::program {

struct UpdateNumbers {
  double lr = 0;
  float unbiased1 = 1, unbiased2 = 1;  // adam, adamw: 1 - beta^t
  float kept = 0;                      // share of itself that the average keeps
};

UpdateNumbers update_numbers(const Recipe& recipe, const StepSettings& settings);

}  // namespace detol::inline trainer::program

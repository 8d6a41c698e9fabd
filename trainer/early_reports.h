#pragma once

// Early reports: the reports of a training inside its first epoch (Recipe::early_reports).

#include <cstdint>
#include <vector>

#include "encodings/study/recipe.h"

namespace detol::inline trainer {

struct EarlyReport {
  double part = 0;         // of the epoch, as the recipe says it
  std::int64_t steps = 0;  // from the training's start; the part, rounded down, but at least one
};

// Returns them in their order. Those whose steps equal an earlier one's or a whole epoch's are left
// out.
std::vector<EarlyReport> early_reports_of(const Recipe& recipe, std::int64_t steps_per_epoch);

}  // namespace detol::inline trainer

#include "trainer/schedule.h"

#include <cassert>
#include <cmath>
#include <numbers>

namespace detol {

double learning_rate(const Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch) {
  assert(step >= 0 && step < recipe.epochs * steps_per_epoch);
  const std::int64_t warmup =
      std::llround(recipe.warmup_epochs * static_cast<double>(steps_per_epoch));
  if (step < warmup) {
    return recipe.lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  }
  if (recipe.schedule == "constant") return recipe.lr;
  const auto done = static_cast<double>(step - warmup);
  const auto all = static_cast<double>(recipe.epochs * steps_per_epoch - warmup);
  return recipe.lr * (1 + std::cos(std::numbers::pi * done / all)) / 2;
}

}  // namespace detol

#pragma once

// Schedule: the learning rate of each step. With W warm-up steps (warmup_epochs, rounded to
// whole steps) out of T (all epochs), step t counted from 0:
//
//   t < W               lr (t + 1) / W                                 linear from lr / W to lr
//   constant            lr
//   cosine              lr (1 + cos(pi (t - W) / (T - W))) / 2         lr at t = W, 0 at t = T
//
// (cosine: Loshchilov and Hutter, 2017, arXiv 1608.03983; warm-up: Goyal et al., 2017,
// arXiv 1706.02677). The length is the recipe's, wherever a pruner may stop the trial.
//
// Rates, steps and epochs are those of the global batch, over all ranks of a group and all its
// micro-batches: neither the size of the group nor micro-batches change any of them, and no rate
// is scaled. Warm-up counts epochs, so that it sees as many images whatever the batch.

#include <cstdint>

#include "encodings/recipe.h"

namespace detol {

// REQUIRES: 0 <= step < recipe.epochs x steps_per_epoch.
double learning_rate(const Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch);

}  // namespace detol

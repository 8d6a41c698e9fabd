#pragma once

// Schedule: the learning rate of each step. With W warm-up steps (warmup_epochs, rounded to
// whole steps) out of T (all epochs), step t counted from 0, p = (t - W) / (T - W):
//
//   t < W               lr (t + 1) / W                       linear from lr / W to lr
//   constant            lr
//   cosine              lr (1 + cos(pi p)) / 2               lr at t = W, 0 at t = T
//   linear              lr (1 - p)                           likewise
//   step                lr gamma^k     k: how many `milestones` are at or below the number of
//                       finished epochs; without milestones, that number / every_epochs, rounded
//                       down (PyTorch's MultiStepLR and StepLR)
//   one_cycle           up from lr / divisor to lr, which it reaches at step W + e,
//                       e = rise (T - W) - 1, then down to lr / (divisor x final_divisor) at step
//                       T - 1; both ways along a cosine: to + (from - to) (1 + cos(pi q)) / 2,
//                       q: the share of the way (PyTorch's OneCycleLR of two phases, `cos`)
//
// (cosine: Loshchilov and Hutter, 2017, arXiv 1608.03983; one_cycle: Smith and Topin, 2018, arXiv
// 1708.07120, here without a cycle of the momentum; warm-up: Goyal et al., 2017, arXiv 1706.02677).
// T is the recipe's, even if a pruner stops the trial earlier.
//
// Rates, steps and epochs are those of the global batch B, over all ranks of a group and all its
// micro-batches: neither the size of the group nor micro-batches change any of them. If `scale_lr`
// is set, lr is the rate of a batch of base_batch images, and is multiplied by B / base_batch
// (`linear`: Goyal et al., 2017) or by its root (`sqrt`: Krizhevsky, 2014, arXiv 1404.5997).
// Warm-up counts epochs, so that it covers the same number of images for any batch size.

#include <cstdint>

#include "encodings/study/recipe.h"

namespace detol::inline trainer {

// Returns the rate of a step. REQUIRES: 0 <= step < recipe.epochs x steps_per_epoch.
double learning_rate(const Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch);

}  // namespace detol::inline trainer

#pragma once

// Loss: the training loss, its derivative, and how many predictions were right. One instance
// per executable: an evaluation uses its scratch space. Every backend calls this same code.
//
//   cross_entropy         softmax cross-entropy with label smoothing s: the target of an image is
//                         1 - s + s / K for its label and s / K for the other of the K classes
//                         (Szegedy et al., 2016, arXiv 1512.00567); mixed images: weighted targets
//   soft_cross_entropy    the same with a target t_k for each class k instead of a label, smoothed
//   to
//                         (1 - s) t_k + (s / K) sum t; they need not add up to 1, so that a
//                         label's target may be the weight of its class. Right: the largest logit
//                         is of the class of the largest target
//   binary_cross_entropy  of the sigmoid of each output, mean over the outputs; smoothed targets
//                         are (1 - s) t + s / 2
//   mse, mae, huber       mean over the outputs of d^2, |d|, and of d^2 / 2 where |d| <= 1, else
//                         |d| - 1 / 2 (Huber, 1964); d: output - target
//
// Sums over images one at a time, in double for any Real; allocates only in the constructor.

#include <cstdint>
#include <span>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"
#include "trainer/data/batch_targets.h"

namespace detol::inline trainer {

// Returns true if a loss takes labels, false if it takes targets.
constexpr bool takes_labels(LossKind kind) {
  return kind == LossKind::kCrossEntropy;
}

// LossInput is the input of one call; `logits` has a row of outputs for each image.
template <typename Real>
struct LossInput {
  std::span<const Real> logits;
  BatchTargets targets;      // of at least as many images
  std::span<Real> gradient;  // empty, or receives the derivative of the loss by each logit
  std::int64_t batch;        // images that the mean is over
};

class Loss {
 public:
  // REQUIRES: 0 <= smoothing < 1.
  Loss(LossKind kind, std::int64_t outputs, double smoothing);

  // Returns the images' share of the mean loss over the batch.
  BatchResult operator()(const LossInput<float>& input);
  BatchResult operator()(const LossInput<double>& input);

 private:
  LossKind kind_;
  double smoothing_;
  std::vector<double> scratch_;  // one image's outputs
};

}  // namespace detol::inline trainer

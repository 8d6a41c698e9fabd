#pragma once

// The formulas of the losses (loss.h) that the host and a device compile.

#include "core/elementary.h"
#include "encodings/study/recipe.h"
#include "trainer/data/batch_targets.h"

namespace detol::inline trainer {

// Smoothing spreads a share of the targets over the classes: a target of 1 becomes most + spread,
// one of 0 spread.
struct Smoothing {
  double most = 1, spread = 0;
};

// `sum`: of an image's targets before, and after.
DETOL_ON_DEVICE inline Smoothing smoothing_of(double smoothing, double sum, std::int64_t classes) {
  return {1.0 - smoothing, smoothing * sum / static_cast<double>(classes)};
}

// Returns the target of class k for an image that has a label.
DETOL_ON_DEVICE inline double target_of(std::int64_t k, std::int32_t label, const MixedLabel& mix,
                                        const Smoothing& by) {
  if (mix.share == 0) return k == label ? by.most + by.spread : by.spread;
  const auto share = static_cast<double>(mix.share);
  return by.most * ((k == label ? 1 - share : 0) + (k == mix.label ? share : 0)) + by.spread;
}

// LossTerm is one output's loss, its derivative by the output, and whether the output predicts the
// target.
struct LossTerm {
  double loss = 0, slope = 0;
  bool is_right = false;
};

// Returns the term of output y and target t of a loss that is the mean of such terms.
DETOL_ON_DEVICE inline LossTerm term_of(LossKind kind, double smoothing, double y, double t) {
  const double d = y - t, sign = d > 0 ? 1 : d < 0 ? -1 : d;  // NaN stays NaN
  if (kind == LossKind::kMse) return {d * d, 2 * d};
  if (kind == LossKind::kMae) return {std::fabs(d), sign};
  if (kind == LossKind::kHuber && std::fabs(d) > 1) return {std::fabs(d) - 0.5, sign};
  if (kind == LossKind::kHuber) return {d * d / 2, d};
  // Binary cross-entropy: max(y, 0) - y t + log(1 + exp(-|y|)), which does not overflow.
  const double wanted = (1 - smoothing) * t + smoothing / 2;
  const double small = std::exp(-std::fabs(y));
  const double sigmoid = (y >= 0 ? 1 : small) / (1 + small);
  return {(y < 0 ? 0 : y) - y * wanted + std::log1p(small), sigmoid - wanted, (y > 0) == (t > 0.5)};
}

}  // namespace detol::inline trainer

#pragma once

// The optimisers' formulas (optimizer.h), once for all kinds of numbers: double, the float of a
// GPU's thread, a register of floats. E has the elementary functions of N (core/elementary.h).

#include "core/elementary.h"
#include "encodings/study/optimizers.h"

namespace detol::inline trainer {

// OptimizerRule has the numbers of one step.
template <typename N>
struct OptimizerRule {
  N lr{};     // lars: the tensor's rate
  N decay{};  // 0 for a tensor that does not decay
  N momentum{}, beta2{}, epsilon{};
  N unbiased1{}, unbiased2{};  // adam, adamw: 1 - momentum^t, 1 - beta2^t
  bool nesterov = false;
};

// Moves one weight, and its moments; `second` is for optimisers with two.
template <OptimizerKind kKind, typename N, typename E = Elementary<N>>
DETOL_ON_DEVICE inline void update_weight(const OptimizerRule<N>& rule, N gradient, N& weight,
                                          N& first, N& second) {
  const N one = E::constant(1), m = rule.momentum, beta2 = rule.beta2;
  N g = gradient;
  if constexpr (kKind == OptimizerKind::kAdamw)
    weight -= rule.lr * rule.decay * weight;
  else
    g += rule.decay * weight;
  if constexpr (kKind == OptimizerKind::kSgd) {
    first = m * first + g;
    weight -= rule.lr * (rule.nesterov ? g + m * first : first);
  } else if constexpr (kKind == OptimizerKind::kLars) {
    first = m * first + rule.lr * g;
    weight -= first;
  } else if constexpr (kKind == OptimizerKind::kRmsprop) {
    first = beta2 * first + (one - beta2) * g * g;
    second = m * second + g / (E::sqrt(first) + rule.epsilon);
    weight -= rule.lr * second;
  } else {
    static_assert(kKind == OptimizerKind::kAdam || kKind == OptimizerKind::kAdamw);
    first = m * first + (one - m) * g;
    second = beta2 * second + (one - beta2) * g * g;
    weight -=
        rule.lr * (first / rule.unbiased1) / (E::sqrt(second / rule.unbiased2) + rule.epsilon);
  }
}

// Calls action.template operator()<kind>() for the kind.
template <typename Action>
void with_optimizer(OptimizerKind kind, const Action& action) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return action.template operator()<OptimizerKind::kSgd>();
    case OptimizerKind::kAdamw:
      return action.template operator()<OptimizerKind::kAdamw>();
    case OptimizerKind::kRmsprop:
      return action.template operator()<OptimizerKind::kRmsprop>();
    case OptimizerKind::kLars:
      return action.template operator()<OptimizerKind::kLars>();
    case OptimizerKind::kAdam:
      return action.template operator()<OptimizerKind::kAdam>();
  }
}

}  // namespace detol::inline trainer

#pragma once

// The optimisers' formulas, one element at a time. Private to this folder.

#include <cmath>

#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"

namespace detol::inline trainer::reference {

// Update applies the formulas of optimizer.h.
template <typename Real>
struct Update {
  const Recipe& recipe;
  const StepSettings& settings;
  bool decays;

  // Updates one element. `rate`: its tensor's rate under lars; `second`: used by optimisers with a
  // second moment.
  void operator()(OptimizerKind optimizer, Real rate, Real& weight, Real gradient, Real& first,
                  Real& second) const {
    switch (optimizer) {
      case OptimizerKind::kSgd:
        return sgd(weight, gradient, first);
      case OptimizerKind::kAdamw:
        return adamw(weight, gradient, first, second);
      case OptimizerKind::kRmsprop:
        return rmsprop(weight, gradient, first, second);
      case OptimizerKind::kLars:
        return lars(rate, weight, gradient, first);
      case OptimizerKind::kAdam:
        return adam(weight, gradient, first, second);
    }
  }

  void sgd(Real& weight, Real gradient, Real& velocity) const {
    const auto momentum = static_cast<Real>(recipe.momentum);
    if (decays) gradient += static_cast<Real>(recipe.weight_decay) * weight;
    velocity = momentum * velocity + gradient;
    const Real direction = recipe.nesterov ? gradient + momentum * velocity : velocity;
    weight -= static_cast<Real>(settings.lr) * direction;
  }

  void adamw(Real& weight, Real gradient, Real& first, Real& second) const {
    const auto lr = static_cast<Real>(settings.lr);
    if (decays) weight -= lr * static_cast<Real>(recipe.weight_decay) * weight;
    move_by_moments(weight, gradient, first, second);
  }

  void adam(Real& weight, Real gradient, Real& first, Real& second) const {
    if (decays) gradient += static_cast<Real>(recipe.weight_decay) * weight;
    move_by_moments(weight, gradient, first, second);
  }

  void move_by_moments(Real& weight, Real gradient, Real& first, Real& second) const {
    const auto steps = static_cast<double>(settings.step + 1);
    const auto beta1 = static_cast<Real>(recipe.momentum);
    const auto beta2 = static_cast<Real>(recipe.beta2);
    const auto unbiased1 = static_cast<Real>(1 - std::pow(recipe.momentum, steps));
    const auto unbiased2 = static_cast<Real>(1 - std::pow(recipe.beta2, steps));
    const auto lr = static_cast<Real>(settings.lr);
    first = beta1 * first + (1 - beta1) * gradient;
    second = beta2 * second + (1 - beta2) * gradient * gradient;
    const Real deviation = std::sqrt(second / unbiased2) + static_cast<Real>(recipe.epsilon);
    weight -= lr * (first / unbiased1) / deviation;
  }

  void rmsprop(Real& weight, Real gradient, Real& square, Real& velocity) const {
    const auto alpha = static_cast<Real>(recipe.beta2);
    if (decays) gradient += static_cast<Real>(recipe.weight_decay) * weight;
    square = alpha * square + (1 - alpha) * gradient * gradient;
    const Real deviation = std::sqrt(square) + static_cast<Real>(recipe.epsilon);
    velocity = static_cast<Real>(recipe.momentum) * velocity + gradient / deviation;
    weight -= static_cast<Real>(settings.lr) * velocity;
  }

  void lars(Real rate, Real& weight, Real gradient, Real& velocity) const {
    if (decays) gradient += static_cast<Real>(recipe.weight_decay) * weight;
    velocity = static_cast<Real>(recipe.momentum) * velocity + rate * gradient;
    weight -= velocity;
  }
};

}  // namespace detol::inline trainer::reference

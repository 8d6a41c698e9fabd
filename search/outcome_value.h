#pragma once

// What a searcher learns from an outcome.

#include <limits>
#include <span>

#include "encodings/space/trial.h"
#include "surrogate/pareto.h"

namespace detol {

// The first objective; NaN if there is nothing to learn from.
inline double first_value(const Outcome& outcome) {
  const auto* measured = std::get_if<Measured>(&outcome);
  if (measured == nullptr || measured->values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  return measured->values.front();
}

// All of them, minimised; empty if there is nothing to learn from.
inline Losses losses_of(const Outcome& outcome, std::span<const Objective> objectives) {
  const auto* measured = std::get_if<Measured>(&outcome);
  if (measured == nullptr || measured->values.size() < objectives.size()) return {};
  Losses losses;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double value = measured->values[i];
    if (value != value) return {};
    losses.push_back(objectives[i].direction == Direction::kMinimize ? value : -value);
  }
  return losses;
}

}  // namespace detol

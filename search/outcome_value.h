#pragma once

// Reads values from outcomes.

#include <limits>
#include <span>

#include "encodings/space/trial.h"
#include "surrogate/pareto.h"

namespace detol::inline search {

// Returns the value of the first objective; NaN if nothing was measured.
inline double first_value(const Outcome& outcome) {
  const auto* measured = std::get_if<Measured>(&outcome);
  if (measured == nullptr || measured->values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  return measured->values.front();
}

// Returns the values of all objectives as losses to minimise; empty if one of them is missing or
// NaN.
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

inline double fidelity_of(const Outcome& outcome) {
  return std::visit([](const auto& o) { return o.fidelity; }, outcome);
}

}  // namespace detol::inline search

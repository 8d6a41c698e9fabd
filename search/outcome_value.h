#pragma once

// What a searcher with one objective learns from an outcome.

#include <limits>

#include "encodings/trial.h"

namespace detol {

// The first objective; NaN if there is nothing to learn from.
inline double first_value(const Outcome& outcome) {
  const auto* measured = std::get_if<Measured>(&outcome);
  if (measured == nullptr || measured->values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  return measured->values.front();
}

}  // namespace detol

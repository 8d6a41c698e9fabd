#pragma once

// MetricConstraint: a bound on a metric that is only known once it was measured, as `constraints`
// of a space file gives it. A trial that breaks one is a result, but is never the best.

#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace detol::inline encoding {

struct MetricConstraint {
  std::string metric;
  std::optional<double> low = {}, high = {};  // inclusive; at least one
};

// Returns 0 if the value keeps to the constraint, else how far it is beyond the bound, as a share
// of the bound (of 1 if the bound is 0); infinity for NaN.
inline double violation_of(const MetricConstraint& constraint, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::infinity();
  const auto share = [](double excess, double bound) {
    return excess <= 0 ? 0 : excess / (bound == 0 ? 1 : std::abs(bound));
  };
  const double below = constraint.low ? share(*constraint.low - value, *constraint.low) : 0;
  const double above = constraint.high ? share(value - *constraint.high, *constraint.high) : 0;
  return below + above;
}

}  // namespace detol::inline encoding

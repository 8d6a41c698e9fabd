#pragma once

// MetricConstraint: a bound on a metric that is only known once it was measured, as `constraints`
// of a space file gives it. A trial that breaks one is a result, but is never the best.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace detol::inline encoding {

struct MetricConstraint {
  std::string metric;
  std::optional<double> low = {}, high = {};  // inclusive; at least one
};

// Returns how far the value is beyond the bound that is nearer to it, as a share of that bound (of
// 1 if the bound is 0); negative or 0 if it keeps to the constraint; infinity for NaN.
inline double excess_of(const MetricConstraint& constraint, double value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isnan(value)) return kInfinity;
  const auto share = [](double excess, double bound) {
    return excess / (bound == 0 ? 1 : std::abs(bound));
  };
  double excess = -kInfinity;
  if (constraint.low) excess = share(*constraint.low - value, *constraint.low);
  if (constraint.high) excess = std::max(excess, share(value - *constraint.high, *constraint.high));
  return excess;
}

// Returns 0 if the value keeps to the constraint, else excess_of().
inline double violation_of(const MetricConstraint& constraint, double value) {
  return std::max(0.0, excess_of(constraint, value));
}

}  // namespace detol::inline encoding

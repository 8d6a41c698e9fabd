#pragma once

// Reads what trials are compared by from outcomes. Where a study has constraints, a trial that
// keeps them is better than one that does not, and of two that do not, the one that exceeds them by
// less in total; else the objectives decide (Deb, 2000, "An Efficient Constraint Handling Method
// for Genetic Algorithms", Computer Methods in Applied Mechanics and Engineering 186). Constraints
// of which nothing is known count as kept.

#include <algorithm>
#include <compare>
#include <limits>
#include <span>

#include "encodings/space/trial.h"
#include "surrogate/pareto.h"

namespace detol::inline search {

// Returns the sum of what exceeds the bounds; 0: all constraints are kept.
inline double violation_of(std::span<const double> excesses) {
  double sum = 0;
  for (double excess : excesses) sum += excess > 0 ? excess : 0;
  return sum;
}

// RankedLoss: the loss of the first objective, after the violation. What was not measured is worse
// than everything.
struct RankedLoss {
  double violation = std::numeric_limits<double>::infinity();
  double loss = std::numeric_limits<double>::infinity();  // less is better; never NaN

  bool is_measured() const { return *this != RankedLoss(); }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in a defaulted <=>
  friend auto operator<=>(const RankedLoss& a, const RankedLoss& b) = default;
};

// RankedLosses: the same of several objectives.
struct RankedLosses {
  Losses losses = {};  // less is better, none is NaN; empty: not measured
  double violation = 0;

  bool empty() const { return losses.empty(); }
};

// REQUIRES: both are measured.
inline bool dominates(const RankedLosses& a, const RankedLosses& b) {
  return a.violation != b.violation ? a.violation < b.violation
                                    : surrogate::dominates(a.losses, b.losses);
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
    losses.push_back(to_loss(objectives[i].direction, value));
  }
  return losses;
}

inline RankedLosses ranked_losses(const Outcome& outcome, std::span<const Objective> objectives) {
  RankedLosses ranked{.losses = losses_of(outcome, objectives)};
  if (!ranked.empty()) ranked.violation = violation_of(std::get<Measured>(outcome).excesses);
  return ranked;
}

// Reads the first objective alone.
inline RankedLoss ranked_loss(const Outcome& outcome, Direction direction) {
  const auto* measured = std::get_if<Measured>(&outcome);
  if (measured == nullptr || measured->values.empty()) return {};
  const double value = measured->values.front();
  if (value != value) return {};
  return {.violation = violation_of(measured->excesses), .loss = to_loss(direction, value)};
}

inline double fidelity_of(const Outcome& outcome) {
  return std::visit([](const auto& o) { return o.fidelity; }, outcome);
}

}  // namespace detol::inline search

#pragma once

// The initial weights of a network that inherits from a trained one. Pure; thread-safe.

#include <cstdint>

#include "trainer/backends/weights.h"
#include "trainer/inheritance/inheritance_plan.h"

namespace detol::inline trainer {

// Returns the child's initial weights by the plan; what does not come from the parent is that of
// initial_weights(child, seed). New filters are random and the layers behind them ignore them
// at first (their weights for these channels are zero): unlike copies of old filters, whose
// gradients are equal, they need no noise to become different, so that the function is preserved
// exactly. REQUIRES: the plan is of these networks, and `weights` fit the parent.
Weights inherited_weights(const InheritancePlan& plan, const Network& parent,
                          const Weights& weights, const Network& child, std::uint64_t seed);

// Returns the share of the child's trainable numbers that are copied from the parent: 0 to 1.
double inherited_share(const InheritancePlan& plan, const Network& child);

}  // namespace detol::inline trainer

#pragma once

// Cost: what a network needs, known before any training. A candidate that asks for more
// than its constraints or its device is refused with these numbers and costs nothing.

#include <cstdint>
#include <limits>
#include <string>

#include "encodings/network.h"
#include "encodings/recipe.h"

namespace detol {

struct Cost {
  std::int64_t params = 0;       // trainable
  std::int64_t flops = 0;        // 2 x multiply-adds, one forward pass of one image
  std::int64_t activations = 0;  // elements of all layer outputs of one image
  std::int64_t memory = 0;       // bytes to train at the recipe's batch size, at most
};

// What `memory` counts: weights, gradients, moments, the average, what a group keeps back or has
// under way; values that the way back needs, and the gradients that live at once (footprint.h);
// the largest layer's workspace. For one process that trains the whole batch in one part, with any
// fast backend on any processor, so that the same candidates are refused everywhere: at most 1.5
// times what `onednn` holds for usual networks, twice and more where few channels are padded to 16.
// Not counted: data, checkpoints while they are written. The oracle `reference` keeps all values
// and all gradients, and may hold more; a candidate that then does not fit ends as out of memory.

// Errors (kInput): a number beyond 2^62.
Result<Cost> cost_of(const Network& network, const Recipe& recipe);

struct Constraints {
  double max_params = std::numeric_limits<double>::infinity();
  double max_flops = std::numeric_limits<double>::infinity();
  double max_memory = std::numeric_limits<double>::infinity();  // bytes
};

// Empty if all hold, else "params 1,234,567 > 1,000,000; flops ...".
std::string broken_constraints(const Cost& cost, const Constraints& constraints);

}  // namespace detol

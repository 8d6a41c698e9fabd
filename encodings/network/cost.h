#pragma once

// Cost: what a network needs, known before any training. A candidate that needs more than its
// constraints or its device allow is refused with these numbers, without any training.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "encodings/network/network.h"

namespace detol::inline encoding {

struct Cost {
  std::int64_t params = 0;       // trainable
  std::int64_t flops = 0;        // 2 x multiply-adds, one forward pass of one image
  std::int64_t activations = 0;  // elements of all layer outputs of one image
  // Bytes to train at the recipe's batch size; known once a backend has planned the training
  // (trainer/training_memory.h).
  std::optional<std::int64_t> memory = std::nullopt;
};

// Returns all but the memory. Errors (kInput): a number beyond 2^62.
Result<Cost> cost_of(const Network& network);

struct Constraints {
  double max_params = std::numeric_limits<double>::infinity();
  double max_flops = std::numeric_limits<double>::infinity();
  double max_memory = std::numeric_limits<double>::infinity();  // bytes
};

// Returns "" if all hold, or what they limit is not known yet; else "params 1,234,567 > 1,000,000;
// flops ...".
std::string broken_constraints(const Cost& cost, const Constraints& constraints);

}  // namespace detol::inline encoding

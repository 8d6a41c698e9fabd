#pragma once

// Weights: a network's tensors in the plain layout and order of Network::parameters(), the
// one form in which backends, checkpoints and exports exchange them.

#include <cstdint>
#include <string>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline trainer {

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> data;  // row-major
};

using Weights = std::vector<Tensor>;

// Returns initial weights: He-normal fan-in for convolutions and dense layers (He et al., 2015,
// arXiv 1502.01852), zero biases, gamma 1, beta 0, running mean 0, running variance 1. Tensor i
// draws from stream i of the seed.
Weights initial_weights(const Network& network, std::uint64_t seed);

// Returns those of the weights that the network has, by their names and in its order. The order
// depends on how a network was built: equal ones may differ. REQUIRES: every tensor is there.
Weights in_order_of(const Network& network, const Weights& weights);

// Returns zeros in the shapes of the network's trainable tensors, for gradients and moments.
Weights zeros_like(const Network& network);

}  // namespace detol::inline trainer

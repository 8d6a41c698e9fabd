#pragma once

// Filter-normalised random directions in the space of a network's weights (Li et al., 2018,
// "Visualizing the Loss Landscape of Neural Nets", arXiv 1712.09913). A step of the same length
// changes networks of large and of small weights alike.

#include "core/rng.h"
#include "encodings/network/network.h"
#include "trainer/backends/weights.h"

namespace detol::inline trainer {

// Returns Gaussian numbers in the form of `weights`, where each filter, which is what makes one
// output channel of a layer, has the norm of the weights' own filter. Zero for tensors of one
// dimension (biases, gamma and beta), as in the paper, and for running statistics. Tensor i draws
// from stream i of `rng`. REQUIRES: the weights fit the network.
Weights filter_normalised_direction(const Network& network, const Weights& weights, const Rng& rng);

}  // namespace detol::inline trainer

#pragma once

// ChannelMoments: estimates of each channel's mean and variance in a network, from its weights
// alone. A batch norm fixes both, and what follows it is estimated as if channels were normal and
// independent.

#include <span>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline trainer {

struct ChannelMoments {
  std::vector<double> mean, variance;  // one per channel
};

// Returns the moments of a node's output. `inputs` are those of its inputs; `weight`, `bias`,
// `gamma` and `beta` are its parameters, empty where it has none.
struct NodeNumbers {
  std::span<const float> weight, bias, gamma, beta;
};
ChannelMoments moments_after(const Node& node, std::span<const ChannelMoments* const> inputs,
                             const NodeNumbers& numbers);

}  // namespace detol::inline trainer

#pragma once

// Post-training quantisation to eight bits (Jacob et al., 2018, arXiv 1712.05877; Nagel et al.,
// 2021, arXiv 2106.08295): the weights of convolutions and dense layers are rounded to 255 levels
// of each output channel, and every tensor that they, sums and pools read to 256 levels of its
// range, which calibration images show. The result is a network of ordinary layers and kQuantize,
// whose float arithmetic is what an integer kernel computes, up to rounding of its sums.
//
// Pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "trainer/backends/weights.h"

namespace detol::inline trainer {

struct QuantizedNetwork {
  Network network;
  Weights weights;
};

// Quantises a trained network. `images` (N x C x H x W, normalised) should be of the training data,
// a few hundred. Batch norms should be folded before: one that is left is computed in floats.
// Errors: those of logits_of.
Result<QuantizedNetwork> quantized(const Network& network, const Weights& weights,
                                   std::span<const float> images, std::string_view backend);

// Returns the kQuantize whose tensor a convolution or dense layer reads, through layers that only
// move or drop numbers; nullopt if it reads floats.
std::optional<NodeId> quantizer_of(const Network& network, NodeId node);

// ChannelLevels: the weights of a layer as integers: weight = scale of its channel x level.
struct ChannelLevels {
  std::vector<float> scales;         // per output channel, positive
  std::vector<std::int8_t> weights;  // as the tensor, from -127 to 127
};

// Returns the nearest levels of a weight tensor, whose first extent is the output channels. Of a
// rounded one they are exact.
ChannelLevels levels_of(const Tensor& weight);

// Rounds the weights of every layer that reads a kQuantize to their levels, and its bias to the
// products of these and the tensor's. Rounding twice changes no bit. REQUIRES: weights that fit.
void round_to_levels(const Network& network, Weights& weights);

}  // namespace detol::inline trainer

#pragma once

// Layouts: how fast backends lay a layer's tensors out, as far as it costs memory. Channels are
// padded to 16, the widest register of any processor. Private to this folder.

#include "encodings/layer.h"

namespace detol {

// Convolutions that read an image of so few channels read it as it is.
inline constexpr std::int64_t kImageChannels = 3;

std::int64_t padded(std::int64_t channels);

// Floats of an image with padded channels.
double blocked_floats(const Shape& shape);

bool is_depthwise(const Layer& layer, const Shape& in);

// In groups that registers do not fit, or a window over one pixel: run as a convolution without
// groups, of the used taps alone, whose weights are made of the layer's in each step.
bool is_spread(const Layer& layer, const Shape& in);

// Windows that direct implementations may refuse: dilated, larger than the image or very large
// ones, and strides along a sequence. They are then run as matrix products over plain tensors.
bool may_be_product(const Layer& layer, const Shape& in);

// Floats of a convolution's weights as if it had no groups.
double dense_weights(const Layer& layer, const Shape& in);

// Floats of a tensor of the network's state, in the layout that its layer computes in.
double parameter_floats(const Layer& layer, const ParameterSpec& spec);

// Floats that a layer works in, one at a time; found out, and held to what is so by
// tests/trainer/foreseen_memory_test.cpp. A convolution needs by minimal filtering 45 for each
// 9 weights and 36 values for each 16 of 48 tiles; as a matrix product the windows of one image
// and four times its weights; depthwise one channel of one image with its margins; of strides
// without a window the positions. A dense layer needs a stretch of 256 weights for three registers,
// and of 128 images all outputs and 48 inputs.
double scratch_of(const Layer& layer, const Shape& in, const Shape& out);

}  // namespace detol

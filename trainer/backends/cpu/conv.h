#pragma once

// Conv and ConvPrimitives are shared by all kinds of convolution: one convolution as three
// primitives.

#include <functional>
#include <optional>
#include <string>

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {

// Conv describes one convolution in padded channels.
struct Conv {
  Layer layer;
  Desc x, y, w, bias;  // w: fixed by primitives_of()
  Dims strides, dilates, padding;
  Buffer *weight = nullptr, *weight_gradient = nullptr;
  Buffer *offset = nullptr, *offset_gradient = nullptr;  // if there is a bias

  void set_tensors(Parameter* weights, Parameter* offsets) {
    weight = weight_of(weights);
    weight_gradient = gradient_of(weights);
    offset = weight_of(offsets);
    offset_gradient = gradient_of(offsets);
  }
};

// ConvPrimitives has the three directions, each if it has a fast implementation.
struct ConvPrimitives {
  std::optional<dnnl::convolution_forward::primitive_desc> forward;
  std::optional<dnnl::convolution_backward_data::primitive_desc> data;
  std::optional<dnnl::convolution_backward_weights::primitive_desc> weights;
};

Conv conv_of(const Layer& layer, const Desc& x, const Desc& y);

// Returns the primitives with a fast implementation. `weight` fixes the weights' extents and,
// unless its layout is left open, their layout; c.w becomes what the forward primitive chose.
ConvPrimitives primitives_of(Conv& c, const Desc& weight);

// DirectConv is oneDNN's direct convolution of a unit between two layouts.
struct DirectConv {
  Conv conv;
  ConvPrimitives primitives;
  Layout in = kBlocked, out = kBlocked;
};
DirectConv conv_between(const Builder& b, const Unit& unit, const Layer& layer, Layout in,
                        Layout out);
// Returns the convolution in the first layouts for which all directions are fast.
std::optional<DirectConv> choose_conv(const Builder& b, const Unit& unit, const Layer& layer);

void write_forward(Builder& b, const Conv& c, const ConvPrimitives& all, Value& x, Value& y);
void write_backward_data(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                         Buffer* dx);
void write_backward_weights(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                            Value& x);

// These lower the kinds of convolution; lower_conv chooses among them. lower_winograd REQUIRES: a
// window of 3 x 3 over an image of more than three channels; stride, dilation and groups are 1.
Lower lower_direct, lower_depthwise, lower_as_dense, lower_winograd, lower_image;

tl::unexpected<Error> no_implementation(const Layer& layer);

}  // namespace detol::inline trainer::cpu

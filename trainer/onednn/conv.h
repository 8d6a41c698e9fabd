#pragma once

// What the kinds of convolution have in common: one convolution as three primitives.

#include <optional>

#include "trainer/onednn/lower.h"

namespace detol::onednn {

// One convolution in padded channels.
struct Conv {
  Layer layer;
  Desc x, y, w, bias;  // w: fixed by primitives_of()
  Dims strides, dilates, padding;
  Buffer *weight = nullptr, *weight_gradient = nullptr;
  Buffer *offset = nullptr, *offset_gradient = nullptr;  // if there is a bias
};

// The three directions, where there is a fast implementation.
struct ConvPrimitives {
  std::optional<dnnl::convolution_forward::primitive_desc> forward;
  std::optional<dnnl::convolution_backward_data::primitive_desc> data;
  std::optional<dnnl::convolution_backward_weights::primitive_desc> weights;
};

Conv conv_of(const Layer& layer, const Desc& x, const Desc& y);

// What has a fast implementation. `weight` fixes the weights' extents and, unless its layout is
// left open, their layout; c.w becomes what the forward primitive chose.
ConvPrimitives primitives_of(Conv& c, const Desc& weight);

// A convolution all of whose directions are fast, in the first layout for which that is so.
struct ConvChoice {
  Conv conv;
  ConvPrimitives primitives;
  Layout in = Layout::kBlocked, out = Layout::kBlocked;
};
std::optional<ConvChoice> choose_conv(Builder& b, const Unit& unit, const Layer& layer);

void write_forward(Builder& b, const Conv& c, const ConvPrimitives& all, Value& x, Value& y);
void write_backward_data(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                         Buffer* dx);
void write_backward_weights(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                            Value& x);

// The same bytes, but only these extents hold values; the rest is padding.
Desc with_extents(Desc padded, const Dims& extents);

void claim_bias(Builder& b, const Unit& unit, Conv& c);

// The kinds, chosen by lower_conv.
Result<void> lower_direct(Builder& b, const Unit& unit);
Result<void> lower_depthwise(Builder& b, const Unit& unit);
Result<void> lower_spread(Builder& b, const Unit& unit);
Result<void> lower_winograd(Builder& b, const Unit& unit);
Result<void> lower_image(Builder& b, const Unit& unit);

tl::unexpected<Error> no_implementation(const Layer& layer);

}  // namespace detol::onednn

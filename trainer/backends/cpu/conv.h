#pragma once

// What the kinds of convolution have in common: one convolution as three primitives.

#include <functional>
#include <optional>
#include <string>

#include "trainer/backends/cpu/lower.h"

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

// A unit's convolution between two layouts.
struct ConvChoice {
  Conv conv;
  ConvPrimitives primitives;
  Layout in = Layout::kBlocked, out = Layout::kBlocked;
};
ConvChoice conv_between(const Builder& b, const Unit& unit, const Layer& layer, Layout in,
                        Layout out);
// The one all of whose directions are fast, in the first layouts for which that is so.
std::optional<ConvChoice> choose_conv(const Builder& b, const Unit& unit, const Layer& layer);

void write_forward(Builder& b, const Conv& c, const ConvPrimitives& all, Value& x, Value& y);
void write_backward_data(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                         Buffer* dx);
void write_backward_weights(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                            Value& x);

// Which directions are computed by our own kernels, the others by oneDNN's direct convolution.
struct OwnDirections {
  bool forward = true, data = true, weights = true;
  bool none() const { return !forward && !data && !weights; }
  bool all() const { return forward && data && weights; }
};

// They mix where both take everything, the weights too, in one layout.
struct ConvWays {
  OwnDirections own;
  std::optional<ConvChoice> direct;  // where there is a choice
};

// What our kernels for a unit are, and want.
struct ConvQuestion {
  std::string_view kind;  // as in Builder::way_of
  std::string own;        // their name
  Layout in = Layout::kBlocked;
  Desc native;  // of the weights, padded
  OwnDirections rule =
      {};  // what is faster as a rule: some directions are oneDNN's only where both fit
};

// The ways of a unit by the study's choices; else, and where there is nothing to choose, all by the
// rule.
Result<ConvWays> choose_ways(Builder& b, const Unit& unit, const ConvQuestion& question);

// A unit by our own kernels: what writes their steps, from what they read to what they write; the
// gradient of the weights reads the output's gradient and the input.
struct OwnConv {
  Parameter *weight = nullptr, *offset = nullptr;  // offset: if there is a bias
  std::function<void(Buffer* x, Buffer* y)> forward;
  std::function<void(Buffer* g, Buffer* dx)> data;
  std::function<void(Buffer* g, Buffer* x)> weights;
};

// Writes every direction in its way.
void write_directions(Builder& b, const ConvWays& ways, const OwnConv& own, Value& x, Value& y);

void claim_bias(Builder& b, const Unit& unit, Conv& c);

// The kinds, chosen by lower_conv.
Result<void> lower_direct(Builder& b, const Unit& unit);
Result<void> lower_depthwise(Builder& b, const Unit& unit);
Result<void> lower_spread(Builder& b, const Unit& unit);
// REQUIRES: a window of 3 x 3 over an image of more than three channels, all else plain.
Result<void> lower_winograd(Builder& b, const Unit& unit);
Result<void> lower_image(Builder& b, const Unit& unit);

tl::unexpected<Error> no_implementation(const Layer& layer);

}  // namespace detol::onednn

// Convolution by three oneDNN primitives. Channels are declared padded to whole registers: oneDNN
// then has a fast implementation for every count, and padding of zeros stays zero. An image of up
// to three channels is read as it is, without a copy to blocks. What the direct kernels refuse
// (windows much larger than the image) goes through a matrix product in the plain layout.

#include "trainer/backends/cpu/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace detol::inline trainer::cpu {
namespace {

using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

constexpr std::int64_t kImageChannels = 3;
constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

// Returns the gap between taps along a side of the window; a side of one tap has none.
std::int64_t gap(const Layer& layer, std::int64_t side) {
  return side == 1 ? 0 : layer.dilation - 1;
}

// Returns the first fast implementation of `desc`, if there is one. `hint` is the forward
// primitive's description for a backward one. oneDNN reads `desc` again at every next_impl(),
// through a pointer.
template <typename Primitive, typename... Hint>
std::optional<typename Primitive::primitive_desc> fast(const Conv& c,
                                                       const typename Primitive::desc& desc,
                                                       const Hint&... hint) {
  typename Primitive::primitive_desc found(desc, scratch_from_user(), machine().engine, hint...,
                                           true);
  if (found && choose_fast(found, c.layer.groups > 1)) return found;
  return std::nullopt;
}

std::optional<Forward::primitive_desc> forward_of(const Conv& c) {
  return fast<Forward>(c, Forward::desc(dnnl::prop_kind::forward_training, kAlgorithm, c.x, c.w,
                                        c.bias, c.y, c.strides, c.dilates, c.padding, c.padding));
}

std::optional<BackwardData::primitive_desc> backward_data_of(const Conv& c, const Desc& w,
                                                             const Forward::primitive_desc& hint) {
  return fast<BackwardData>(
      c, BackwardData::desc(kAlgorithm, c.x, w, c.y, c.strides, c.dilates, c.padding, c.padding),
      hint);
}

std::optional<BackwardWeights::primitive_desc> backward_weights_of(
    const Conv& c, const Forward::primitive_desc& hint) {
  return fast<BackwardWeights>(c,
                               BackwardWeights::desc(kAlgorithm, c.x, c.w, c.bias, c.y, c.strides,
                                                     c.dilates, c.padding, c.padding),
                               hint);
}

}  // namespace

Conv conv_of(const Layer& layer, const Desc& x, const Desc& y) {
  Conv c;
  c.layer = layer;
  c.x = x;
  c.y = y;
  c.bias = layer.bias ? floats_desc({y.dims()[1]}, Tag::a) : Desc();
  c.strides = {layer.stride, layer.stride};
  c.dilates = {gap(layer, height_of(layer)), gap(layer, layer.kernel)};
  c.padding = {padding_above(layer), padding_beside(layer)};
  return c;
}

ConvPrimitives primitives_of(Conv& c, const Desc& weight) {
  ConvPrimitives all;
  c.w = weight;
  all.forward = forward_of(c);
  if (!all.forward) return all;
  c.w = all.forward->weights_desc();
  all.data = backward_data_of(c, weight, *all.forward);
  all.weights = backward_weights_of(c, *all.forward);
  return all;
}

void write_forward(Builder& b, const Conv& c, const ConvPrimitives& all, Value& x, Value& y) {
  auto call = make_call<Forward>(b, *all.forward);
  call->add(DNNL_ARG_SRC, c.x, x.data);
  call->add(DNNL_ARG_WEIGHTS, c.w, c.weight);
  if (c.layer.bias) call->add(DNNL_ARG_BIAS, c.bias, c.offset);
  call->add(DNNL_ARG_DST, c.y, y.data);
  b.step(std::move(call));
}

void write_backward_data(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                         Buffer* dx) {
  const Desc wanted = all.data->weights_desc();
  Buffer* weight = c.weight;
  if (wanted != c.w) {
    weight = b.arena().make(wanted.get_size());
    write_reorder(b, c.w, c.weight, wanted, weight);
  }
  auto call = make_call<BackwardData>(b, *all.data);
  call->add(DNNL_ARG_DIFF_DST, c.y, g);
  call->add(DNNL_ARG_WEIGHTS, wanted, weight);
  call->add(DNNL_ARG_DIFF_SRC, c.x, dx);
  b.step(std::move(call));
}

void write_backward_weights(Builder& b, const Conv& c, const ConvPrimitives& all, Buffer* g,
                            Value& x) {
  auto call = make_call<BackwardWeights>(b, *all.weights);
  call->add(DNNL_ARG_SRC, c.x, x.data);
  call->add(DNNL_ARG_DIFF_DST, c.y, g);
  call->add(DNNL_ARG_DIFF_WEIGHTS, c.w, c.weight_gradient);
  if (c.layer.bias) call->add(DNNL_ARG_DIFF_BIAS, c.bias, c.offset_gradient);
  b.step(std::move(call));
}

tl::unexpected<Error> no_implementation(const Layer& layer) {
  return fail(ErrorCode::kInput,
              fmt::format("conv: oneDNN has no fast implementation of {} channels, kernel {} x {}, "
                          "stride {}, {} groups, dilation {}; train with the backend 'reference'",
                          layer.channels, height_of(layer), layer.kernel, layer.stride,
                          layer.groups, layer.dilation));
}

DirectConv conv_between(const Builder& b, const Unit& unit, const Layer& layer, Layout in,
                        Layout out) {
  const Shape& source = b.input(unit).shape;
  DirectConv choice{
      conv_of(layer, b.desc(source, in), b.desc(b.node(unit.node).shape, out)), {}, in, out};
  const std::int64_t h = height_of(layer), w = layer.kernel, g = layer.groups;
  const std::int64_t inputs = choice.conv.x.dims()[1], outputs = choice.conv.y.dims()[1];
  const Dims weight = g > 1 ? Dims{g, outputs / g, inputs / g, h, w} : Dims{outputs, inputs, h, w};
  const Desc open(weight, dnnl::memory::data_type::f32, Tag::any);
  choice.primitives = primitives_of(choice.conv, open);
  return choice;
}

std::optional<DirectConv> choose_conv(const Builder& b, const Unit& unit, const Layer& layer) {
  const Value& source = b.input(unit);
  const bool image = layer.groups == 1 && source.shape.channels <= kImageChannels &&
                     source.layout == kPlain && !source.needs_gradient;
  using enum Layout;
  for (const auto& [in, out, possible] :
       {std::tuple(kPlain, kBlocked, image), std::tuple(kBlocked, kBlocked, true),
        std::tuple(kPlain, kPlain, true)}) {
    if (!possible) continue;
    DirectConv choice = conv_between(b, unit, layer, in, out);
    const ConvPrimitives& all = choice.primitives;
    if (all.forward && all.weights && (all.data || !source.needs_gradient)) return choice;
  }
  return std::nullopt;
}

Result<void> lower_direct(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const auto choice = choose_conv(b, unit, layer);
  if (!choice) return no_implementation(layer);
  Value& x = b.input(unit, choice->in);
  Value& y = b.make_value(unit.node, choice->out, true);
  Conv c = choice->conv;
  const bool grouped = layer.groups > 1;
  const Dims dense = {layer.channels, x.shape.channels, height_of(layer), layer.kernel};
  const Dims extents = grouped ? c.w.dims() : dense;
  const Desc plain = floats_desc(extents, grouped ? Tag::abcde : Tag::abcd);
  Parameter* p = b.parameters().claim(unit.node, "weight", plain, with_extents(c.w, extents));
  c.set_tensors(p, b.parameters().claim(unit.node, "bias"));
  const ConvPrimitives& all = choice->primitives;
  write_forward(b, c, all, x, y);
  const auto of_weights = [=, &b, &x](Buffer* g) { write_backward_weights(b, c, all, g, x); };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) { write_backward_data(b, c, all, g, dx); };
  b.on_gradients(y, {{.input = &x, .write = backward}}, of_weights);
  return {};
}

bool winograd_fits(const Layer& l, const Shape& image) {
  const bool is_plain = l.kernel == 3 && height_of(l) == 3 && l.stride == 1 && l.dilation == 1;
  return is_plain && l.groups == 1 && image.channels > kImageChannels;
}

bool is_image_window(const Layer& l, const Value& image) {
  const std::int64_t channels = image.shape.channels;
  return channels <= kImageChannels && image.layout == kPlain && !image.needs_gradient &&
         l.groups == 1 && l.dilation == 1 && l.stride <= 2 &&
         channels * height_of(l) * l.kernel <= kMostImageTaps;
}

Result<void> lower_conv(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const Shape& image = b.input(unit).shape;
  const std::int64_t groups = layer.groups, lanes = machine().lanes();
  const bool depthwise = groups > 1 && groups == image.channels && layer.channels == groups;
  if (depthwise) return lower_depthwise(b, unit);
  if (image.height * image.width == 1 && layer.kernel * height_of(layer) > 1)
    return lower_as_dense(b, unit);
  if (is_image_window(layer, b.input(unit))) return lower_image(b, unit);
  if (winograd_fits(layer, image)) return lower_winograd(b, unit);
  const bool whole = image.channels / groups % lanes == 0 && layer.channels / groups % lanes == 0;
  return groups == 1 || whole ? lower_direct(b, unit) : lower_as_dense(b, unit);
}

}  // namespace detol::inline trainer::cpu

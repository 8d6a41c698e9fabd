// Lowers layers that work element by element, on one value per image and channel, or on windows.

#include <algorithm>

#include "encodings/network/activation_functions.h"
#include "trainer/backends/cuda/lower.h"
#include "trainer/backends/dropout.h"

namespace detol::inline trainer::cuda {
namespace {

WindowCall window_of(const Builder& b, const Layer& layer, const Shape& x, const Shape& y) {
  return {.images = b.batch(),
          .channels = padded(x.channels),
          .height = x.height,
          .width = x.width,
          .out_height = y.height,
          .out_width = y.width,
          .kernel_height = height_of(layer),
          .kernel = layer.kernel,
          .stride = layer.stride,
          .above = padding_above(layer),
          .beside = padding_beside(layer)};
}

PlaneCall planes_of(const Builder& b, const Value& x) {
  return {.images = b.batch(), .positions = x.positions(), .channels = channels_of(x)};
}

void lower_max(Builder& b, const Unit& unit, const WindowCall& window, Value& x) {
  const std::int64_t taps = window.images * window.out_height * window.out_width * window.channels;
  Buffer* best = b.arena().make(static_cast<std::size_t>(taps) * sizeof(std::int16_t));
  const auto forward = [=, &b, relu = unit.relu](Buffer* from, Buffer* to) {
    b.launch(max_pool, window, relu, from, to, best);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.launch(max_pool_backward, window, g, best, dx);
  };
  b.unary(unit, x, {.forward = forward, .backward = backward});
}

void lower_avg(Builder& b, const Unit& unit, const WindowCall& window, Value& x) {
  const auto forward = [=, &b](Buffer* from, Buffer* to) { b.launch(avg_pool, window, from, to); };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.launch(avg_pool_backward, window, g, dx);
  };
  b.unary(unit, x, {.forward = forward, .backward = backward});
}

}  // namespace

Result<void> lower_activation(Builder& b, const Unit& unit) {
  const Activation function = b.node(unit.node).layer.activation;
  Value& x = b.input(unit);
  Value& y = b.make_value(unit.node, x.needs_gradient);
  const std::int64_t count = b.elements(x);
  b.launch(activate, function, x.data, y.data, count);
  if (!row_of(function).keeps_zero) b.launch(clear_padding, y.data, b.rows(x), x.shape.channels);
  Buffer* at = has_slope_of_value(function) ? y.data : x.data;
  b.on_gradient_of_terms(y, x, [=, &b](Buffer* g, Buffer* other, Buffer* dx) {
    b.launch(activate_backward, function, at, g, other, dx, count);
  });
  return {};
}

Result<void> lower_pool(Builder& b, const Unit& unit) {
  const Node& node = b.node(unit.node);
  const NodeId before = node.inputs[0];
  Value& x = b.value(unit.relu ? b.node(before).inputs[0] : before);
  const WindowCall window = window_of(b, node.layer, x.shape, node.shape);
  node.layer.kind == LayerKind::kMaxPool ? lower_max(b, unit, window, x)
                                         : lower_avg(b, unit, window, x);
  return {};
}

Result<void> lower_global_pool(Builder& b, const Unit& unit) {
  Value& x = b.input(unit);
  const PlaneCall planes = planes_of(b, x);
  const float share = 1.0F / static_cast<float>(planes.positions);
  const auto forward = [=, &b](Buffer* from, Buffer* to) {
    b.launch(sum_planes, planes, share, from, nullptr, to);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.launch(broadcast_planes, planes, share, g, nullptr, dx);
  };
  b.unary(unit, x, {.forward = forward, .backward = backward});
  return {};
}

Result<void> lower_quantize(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.input(unit);
  const auto forward = [&](Buffer* from, Buffer* to) {
    const Levels levels{layer.scale, static_cast<float>(layer.zero_point)};
    b.launch(quantize, levels, from, to, b.elements(x));
  };
  b.unary(unit, x, {.forward = forward});
  return {};
}

Result<void> lower_flatten(Builder& b, const Unit& unit) {
  b.set_value(unit.node, b.flattened(b.input(unit)));
  return {};
}

Result<void> lower_scale(Builder& b, const Unit& unit) {
  Value& x = b.input(unit);
  Value& s = b.input(unit, 1);
  Value& y = b.make_value(unit.node, b.needs_gradient(unit));
  const PlaneCall planes = planes_of(b, x);
  const std::int64_t count = b.elements(x);
  const bool is_gate = s.shape == x.shape;  // an element for each
  const auto scale = [=, &b, s = s.data](Buffer* from, Buffer* to) {
    is_gate ? b.launch(multiply, from, s, to, count)
            : b.launch(broadcast_planes, planes, 1.0F, s, from, to);
  };
  scale(x.data, y.data);
  const auto of_scales = [=, &b, x = x.data](Buffer* g, Buffer* ds) {
    is_gate ? b.launch(multiply, g, x, ds, count) : b.launch(sum_planes, planes, 1.0F, g, x, ds);
  };
  b.on_gradients(
      y, {{.input = &s, .write = of_scales}, {.input = &x, .term = Term::kOver, .write = scale}});
  return {};
}

// The mask is drawn again for the gradient, which costs less than storing it.
Result<void> lower_dropout(Builder& b, const Unit& unit) {
  Value& x = b.input(unit);
  const std::size_t index = b.declare_dropout(unit.node);
  const DropoutDraw draw = draw_of({}, b.node(unit.node).layer.rate);
  const DropoutCall all{.images = b.batch(),
                        .positions = x.positions(),
                        .channels = channels_of(x),
                        .groups = channels_of(x) / kDropoutGroup,
                        .threshold = draw.threshold,
                        .kept = draw.kept};
  static_assert(kDropoutGroup == kLanes);
  const auto write = [=, &b](Buffer* from, Buffer* to) {
    b.step({from, to}, [=, &b](const StepContext& context) {
      DropoutCall call = all;
      call.first = context.shard.first;
      call.key = b.key(index);
      if (!context.training) call.threshold = 0;
      if (!context.training) call.kept = 1;
      dropout(b.type(), call, from->data, to->data, device().stream);
    });
  };
  b.unary(unit, x, {.forward = write, .backward = write, .term = Term::kOver});
  return {};
}

Result<void> lower_concat(Builder& b, const Unit& unit) {
  const Node& node = b.node(unit.node);
  Value& y = b.make_value(unit.node, b.needs_gradient(unit));
  std::vector<InputGradient> gradients;
  std::int64_t first = 0;
  for (const NodeId input : node.inputs) {
    Value& x = b.value(input);
    const ChannelCopy copy{.rows = b.rows(x),
                           .channels = x.shape.channels,
                           .from_width = channels_of(x),
                           .to_first = first,
                           .to_width = channels_of(y),
                           .clears_rest = gradients.size() + 1 == node.inputs.size()};
    b.launch(copy_channels, copy, x.data, y.data);
    const ChannelCopy back{.rows = copy.rows,
                           .channels = copy.channels,
                           .from_first = first,
                           .from_width = copy.to_width,
                           .to_width = copy.from_width,
                           .clears_rest = true};
    gradients.push_back({.input = &x, .write = [=, &b](Buffer* g, Buffer* dx) {
                           b.launch(copy_channels, back, g, dx);
                         }});
    first += copy.channels;
  }
  b.on_gradients(y, std::move(gradients));
  return {};
}

}  // namespace detol::inline trainer::cuda

// Layers that work element by element or on one value per image and channel.

#include <algorithm>

#include "encodings/network/activation_functions.h"
#include "trainer/backends/cpu/lower.h"
#include "trainer/backends/dropout.h"

namespace detol::inline trainer::cpu {
namespace {

void put_on_levels(const Layer& layer, const float* x, float* y, std::size_t floats) {
  std::transform(x, x + floats, y, [&](float one) { return on_levels(layer, one); });
}

}  // namespace

void clear_padding(Builder& b, const Value& y, Buffer* values) {
  const std::int64_t lanes = machine().lanes(), used = y.shape.channels % lanes;
  if (y.layout == kPlain || used == 0) return;
  const Extent e = b.extent(y);
  b.step({values}, [=](const StepContext&) {
    for (std::ptrdiff_t n = 0; n < e.images; ++n) {
      float* last = values->as<float>() + ((n + 1) * e.blocks - 1) * e.positions() * lanes;
      for (std::ptrdiff_t p = 0; p < e.positions(); ++p) {
        std::fill(last + p * lanes + used, last + (p + 1) * lanes, 0.0f);
      }
    }
  });
}

Result<void> lower_activation(Builder& b, const Unit& unit) {
  const Activation function = b.node(unit.node).layer.activation;
  Value& x = b.input(unit);
  Value& y = b.make_value(unit.node, x.layout, x.needs_gradient);
  const ActivationKernels& of = kernels().activations[static_cast<std::size_t>(function)];
  const std::size_t floats = b.floats(y);
  b.call(of.value, x.data, y.data, floats);
  if (!row_of(function).keeps_zero) clear_padding(b, y, y.data);
  Buffer* at = has_slope_of_value(function) ? y.data : x.data;
  const auto backward = [=, &b, &of](Buffer* g, Buffer* dx) {
    b.call(of.gradient, at, g, dx, floats);
  };
  b.on_gradients(y, {{.input = &x, .term = Term::kOver, .write = backward}});
  return {};
}

Result<void> lower_quantize(Builder& b, const Unit& unit) {
  Value& x = b.input(unit);
  const auto forward = [&](Buffer* from, Buffer* to) {
    b.call(put_on_levels, b.node(unit.node).layer, from, to, b.floats(x));
  };
  b.unary(unit, x, {.forward = forward});
  return {};
}

Result<void> lower_flatten(Builder& b, const Unit& unit) {
  b.set_value(unit.node, b.view(b.input(unit, kPlain), b.node(unit.node).shape, kPlain));
  return {};
}

Result<void> lower_scale(Builder& b, const Unit& unit) {
  Value& x = b.input(unit, kBlocked);
  Value& s = b.input(unit, kBlocked, 1);
  Value& y = b.make_value(unit.node, kBlocked, b.needs_gradient(unit));
  const Extent e = b.extent(x);
  const std::size_t floats = b.floats(x);
  const bool is_gate = s.shape == x.shape;  // an element for each
  const auto scale = [=, &b, s = s.data](Buffer* from, Buffer* to) {
    is_gate ? b.call(kernels().multiply, from, s, to, floats)
            : b.call(kernels().scale, e, from, s, to);
  };
  scale(x.data, y.data);
  const auto of_scales = [=, &b, x = x.data](Buffer* g, Buffer* ds) {
    is_gate ? b.call(kernels().multiply, g, x, ds, floats)
            : b.call(kernels().scale_gradient, e, g, x, ds);
  };
  b.on_gradients(
      y, {{.input = &s, .write = of_scales}, {.input = &x, .term = Term::kOver, .write = scale}});
  return {};
}

Result<void> lower_dropout(Builder& b, const Unit& unit) {
  Value& x = b.input(unit, kBlocked);
  const std::size_t floats = b.floats(x);
  const Dropout all{.extent = b.extent(x),
                    .groups = (x.shape.channels + kDropoutGroup - 1) / kDropoutGroup};
  Buffer* mask = b.floats_buffer(floats);
  const auto forward = [=, &b, rate = b.node(unit.node).layer.rate, node = unit.node](Buffer* from,
                                                                                      Buffer* to) {
    b.step({from, to, mask}, [=](const StepContext& context) {
      if (!context.training) {
        std::copy_n(from->as<float>(), floats, to->as<float>());
        return;
      }
      const DropoutDraw draw =
          draw_of({context.settings.seed, context.settings.step, node, context.shard.first}, rate);
      Dropout call = all;
      call.first = context.shard.first;
      call.key = draw.key;
      call.threshold = draw.threshold;
      call.kept = draw.kept;
      kernels().dropout(call, from->as<float>(), mask->as<float>(), to->as<float>());
    });
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(kernels().multiply, g, mask, dx, floats);
  };
  b.unary(unit, x, {.forward = forward, .backward = backward, .term = Term::kOver});
  return {};
}

}  // namespace detol::inline trainer::cpu

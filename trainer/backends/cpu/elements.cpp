// Layers that work element by element or on one value per image and channel.

#include <algorithm>

#include "encodings/network/activation_functions.h"
#include "trainer/backends/cpu/lower.h"
#include "trainer/backends/dropout.h"

namespace detol::inline trainer::cpu {

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
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& y = b.make_value(unit.node, x.layout, x.needs_gradient);
  const ActivationKernels kernels =
      machine().kernels->activations[static_cast<std::size_t>(function)];
  const std::size_t floats = b.floats(y);
  b.step({x.data, y.data}, [=, x = x.data, y = y.data](const StepContext&) {
    kernels.value(x->as<float>(), y->as<float>(), floats);
  });
  if (!row_of(function).keeps_zero) clear_padding(b, y, y.data);
  Buffer* at = has_slope_of_value(function) ? y.data : x.data;
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.step({at, g, dx}, [=](const StepContext&) {
      kernels.gradient(at->as<float>(), g->as<float>(), dx->as<float>(), floats);
    });
  };
  b.on_gradients(y, {{.input = &x, .term = Term::kOver, .write = backward}});
  return {};
}

Result<void> lower_quantize(Builder& b, const Unit& unit) {
  const Layer layer = b.node(unit.node).layer;
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& y = b.make_value(unit.node, x.layout, x.needs_gradient);
  const std::size_t floats = b.floats(y);
  b.step({x.data, y.data}, [=, x = x.data, y = y.data](const StepContext&) {
    const float* from = x->as<float>();
    std::transform(from, from + floats, y->as<float>(),
                   [&layer](float one) { return on_levels(layer, one); });
  });
  b.on_gradients(y, {{.input = &x, .term = Term::kSame}});
  return {};
}

Result<void> lower_flatten(Builder& b, const Unit& unit) {
  b.view_value(unit.node, b.value(b.node(unit.node).inputs[0], kPlain));
  return {};
}

Result<void> lower_scale(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0], kBlocked);
  Value& s = b.value(b.node(unit.node).inputs[1], kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, x.needs_gradient || s.needs_gradient);
  const Extent e = b.extent(x);
  const Kernels& kernels = *machine().kernels;
  b.step({x.data, s.data, y.data},
         [=, run = kernels.scale, x = x.data, s = s.data, y = y.data](const StepContext&) {
           run(e, x->as<float>(), s->as<float>(), y->as<float>());
         });
  const auto backward = [=, &b, &s, run = kernels.scale](Buffer* g, Buffer* dx) {
    b.step({g, s.data, dx}, [=, s = s.data](const StepContext&) {
      run(e, g->as<float>(), s->as<float>(), dx->as<float>());
    });
  };
  const auto backward_of_scales = [=, &b, &x, run = kernels.scale_gradient](Buffer* g, Buffer* ds) {
    b.step({g, x.data, ds}, [=, x = x.data](const StepContext&) {
      run(e, g->as<float>(), x->as<float>(), ds->as<float>());
    });
  };
  b.on_gradients(y, {{.input = &s, .write = backward_of_scales},
                     {.input = &x, .term = Term::kOver, .write = backward}});
  return {};
}

Result<void> lower_dropout(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0], kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, x.needs_gradient);
  const std::size_t floats = b.floats(y);
  const double rate = b.node(unit.node).layer.rate;
  const Dropout all{.extent = b.extent(x),
                    .groups = (x.shape.channels + kDropoutGroup - 1) / kDropoutGroup};
  Buffer* mask = b.floats_buffer(floats);
  const Kernels& kernels = *machine().kernels;
  b.step({x.data, y.data, mask},
         [=, &kernels, x = x.data, y = y.data, node = unit.node](const StepContext& context) {
           if (!context.training) {
             std::copy_n(x->as<float>(), floats, y->as<float>());
             return;
           }
           const DropoutDraw draw = draw_of(
               {context.settings.seed, context.settings.step, node, context.shard.first}, rate);
           Dropout call = all;
           call.first = context.shard.first;
           call.key = draw.key;
           call.threshold = draw.threshold;
           call.kept = draw.kept;
           kernels.dropout(call, x->as<float>(), mask->as<float>(), y->as<float>());
         });
  const auto backward = [=, &b, run = kernels.multiply](Buffer* g, Buffer* dx) {
    b.step({g, mask, dx}, [=](const StepContext&) {
      run(g->as<float>(), mask->as<float>(), dx->as<float>(), floats);
    });
  };
  b.on_gradients(y, {{.input = &x, .term = Term::kOver, .write = backward}});
  return {};
}

}  // namespace detol::inline trainer::cpu

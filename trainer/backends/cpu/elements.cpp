// Layers that work element by element or on one value per image and channel.

#include <algorithm>

#include "trainer/backends/cpu/lower.h"
#include "trainer/backends/dropout.h"

namespace detol::inline trainer::onednn {
namespace {

using Eltwise = dnnl::eltwise_forward;
using EltwiseBackward = dnnl::eltwise_backward;

void lower_relu(Builder& b, Value& x, Value& y) {
  const Kernels& kernels = *machine().kernels;
  const std::size_t floats = b.floats(y);
  b.step({x.data, y.data}, [=, run = kernels.relu, x = x.data, y = y.data](const StepContext&) {
    run(x->as<float>(), y->as<float>(), floats);
  });
  const auto backward = [=, &b, &y, run = kernels.relu_backward](Buffer* g, Buffer* dx) {
    b.step({y.data, g, dx}, [=, y = y.data](const StepContext&) {
      run(y->as<float>(), g->as<float>(), dx->as<float>(), floats);
    });
  };
  b.on_gradients(y, {{.input = &x, .term = Term::kOver, .write = backward}});
}

// Lowers SiLU and sigmoid, over all floats as one vector.
void lower_smooth(Builder& b, Activation activation, Value& x, Value& y) {
  const bool silu = activation == Activation::kSilu;
  const auto algorithm = silu ? dnnl::algorithm::eltwise_swish : dnnl::algorithm::eltwise_logistic;
  const Desc flat = floats_desc({static_cast<std::int64_t>(b.floats(y))}, Tag::a);
  const dnnl::engine& engine = machine().engine;
  const Eltwise::desc desc(dnnl::prop_kind::forward_training, algorithm, flat, 1.0f, 0.0f);
  const Eltwise::primitive_desc forward(desc, scratch_from_user(), engine);
  auto call = make_call<Eltwise>(b, forward);
  call->add(DNNL_ARG_SRC, flat, x.data);
  call->add(DNNL_ARG_DST, flat, y.data);
  b.step(std::move(call));
  if (!silu) clear_padding(b, y, y.data);  // sigmoid of 0 is not 0
  const auto backward = [=, &b, &x](Buffer* g, Buffer* dx) {
    const EltwiseBackward::desc back(algorithm, flat, flat, 1.0f, 0.0f);
    auto derivative =
        make_call<EltwiseBackward>(b, {back, scratch_from_user(), machine().engine, forward});
    derivative->add(DNNL_ARG_SRC, flat, x.data);
    derivative->add(DNNL_ARG_DIFF_DST, flat, g);
    derivative->add(DNNL_ARG_DIFF_SRC, flat, dx);
    b.step(std::move(derivative));
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
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
  const Activation activation = b.node(unit.node).layer.activation;
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& y = b.make_value(unit.node, x.layout, x.needs_gradient);
  activation == Activation::kRelu ? lower_relu(b, x, y) : lower_smooth(b, activation, x, y);
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

Result<void> lower_add(Builder& b, const Unit& unit) {
  program::lower_add(b, unit);
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

}  // namespace detol::inline trainer::onednn

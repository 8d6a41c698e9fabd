// Lowers layers that work element by element, on one value per image and channel, or on windows.

#include <algorithm>

#include "encodings/network/activation_functions.h"
#include "trainer/backends/cuda/lower.h"
#include "trainer/backends/dropout.h"

namespace detol::inline trainer::cuda {
namespace {

WindowCall window_of(const Builder& b, const Layer& layer, const Value& x, const Value& y) {
  return {.images = b.batch(),
          .channels = channels_of(x),
          .height = x.shape.height,
          .width = x.shape.width,
          .out_height = y.shape.height,
          .out_width = y.shape.width,
          .kernel_height = height_of(layer),
          .kernel = layer.kernel,
          .stride = layer.stride,
          .above = padding_above(layer),
          .beside = padding_beside(layer)};
}

PlaneCall planes_of(const Builder& b, const Value& x) {
  return {.images = b.batch(), .positions = x.positions(), .channels = channels_of(x)};
}

void lower_max(Builder& b, const WindowCall& window, bool relu, Value& x, Value& y) {
  const auto taps = static_cast<std::size_t>(b.elements(y)) * sizeof(std::int16_t);
  Buffer* best = b.arena().make(taps);
  const Type type = b.type();
  b.step({x.data, y.data, best}, [=, x = x.data, y = y.data](const StepContext&) {
    max_pool(type, window, relu, x->data, y->data, best->as<std::int16_t>(), device().stream);
  });
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.step({g, best, dx}, [=](const StepContext&) {
      max_pool_backward(type, window, g->data, best->as<std::int16_t>(), dx->data, device().stream);
    });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
}

void lower_avg(Builder& b, const WindowCall& window, Value& x, Value& y) {
  const Type type = b.type();
  b.step({x.data, y.data}, [=, x = x.data, y = y.data](const StepContext&) {
    avg_pool(type, window, x->data, y->data, device().stream);
  });
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.step({g, dx}, [=](const StepContext&) {
      avg_pool_backward(type, window, g->data, dx->data, device().stream);
    });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
}

}  // namespace

Result<void> lower_activation(Builder& b, const Unit& unit) {
  const Activation function = b.node(unit.node).layer.activation;
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& y = b.make_value(unit.node, x.needs_gradient);
  const Type type = b.type();
  const std::int64_t count = b.elements(x), rows = b.rows(x), channels = x.shape.channels;
  b.step({x.data, y.data}, [=, x = x.data, y = y.data](const StepContext&) {
    activate(type, function, x->data, y->data, count, device().stream);
    if (!row_of(function).keeps_zero) clear_padding(type, y->data, rows, channels, device().stream);
  });
  if (!x.needs_gradient) return {};
  b.on_backward([=, &b, &x, &y] {
    const std::vector<Buffer*> terms = b.gradient_terms(y, 2);
    Buffer *g = terms[0], *other = terms.size() > 1 ? terms[1] : nullptr;
    Buffer* dx = b.arena().make_over(g);
    b.pass_gradient(x, dx);
    Buffer* at = has_slope_of_value(function) ? y.data : x.data;
    std::vector<Buffer*> uses = terms;
    uses.insert(uses.end(), {at, dx});
    b.step(uses, [=](const StepContext&) {
      activate_backward(type, function, at->data, g->data, other != nullptr ? other->data : nullptr,
                        dx->data, count, device().stream);
    });
  });
  return {};
}

Result<void> lower_pool(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const NodeId input = b.node(unit.node).inputs[0];
  Value& x = b.value(unit.relu ? b.node(input).inputs[0] : input);
  Value& y = b.make_value(unit.node, x.needs_gradient);
  const WindowCall window = window_of(b, layer, x, y);
  layer.kind == LayerKind::kMaxPool ? lower_max(b, window, unit.relu, x, y)
                                    : lower_avg(b, window, x, y);
  return {};
}

Result<void> lower_global_pool(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& y = b.make_value(unit.node, x.needs_gradient);
  const PlaneCall planes = planes_of(b, x);
  const float share = 1.0F / static_cast<float>(planes.positions);
  const Type type = b.type();
  b.step({x.data, y.data}, [=, x = x.data, y = y.data](const StepContext&) {
    sum_planes(type, planes, share, x->data, nullptr, y->data, device().stream);
  });
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.step({g, dx}, [=](const StepContext&) {
      broadcast_planes(type, planes, share, g->data, nullptr, dx->data, device().stream);
    });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
  return {};
}

Result<void> lower_quantize(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const Levels levels{layer.scale, static_cast<float>(layer.zero_point)};
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& y = b.make_value(unit.node, x.needs_gradient);
  const Type type = b.type();
  const std::int64_t count = b.elements(x);
  b.step({x.data, y.data}, [=, x = x.data, y = y.data](const StepContext&) {
    quantize(type, levels, x->data, y->data, count, device().stream);
  });
  b.on_gradients(y, {{.input = &x, .term = Term::kSame}});
  return {};
}

Result<void> lower_flatten(Builder& b, const Unit& unit) {
  b.set_value(unit.node, b.flattened(b.value(b.node(unit.node).inputs[0])));
  return {};
}

Result<void> lower_scale(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& s = b.value(b.node(unit.node).inputs[1]);
  Value& y = b.make_value(unit.node, x.needs_gradient || s.needs_gradient);
  const PlaneCall planes = planes_of(b, x);
  const Type type = b.type();
  b.step({x.data, s.data, y.data}, [=, x = x.data, s = s.data, y = y.data](const StepContext&) {
    broadcast_planes(type, planes, 1, s->data, x->data, y->data, device().stream);
  });
  const auto backward = [=, &b, &s](Buffer* g, Buffer* dx) {
    b.step({g, s.data, dx}, [=, s = s.data](const StepContext&) {
      broadcast_planes(type, planes, 1, s->data, g->data, dx->data, device().stream);
    });
  };
  const auto backward_of_scales = [=, &b, &x](Buffer* g, Buffer* ds) {
    b.step({g, x.data, ds}, [=, x = x.data](const StepContext&) {
      sum_planes(type, planes, 1, g->data, x->data, ds->data, device().stream);
    });
  };
  b.on_gradients(y, {{.input = &s, .write = backward_of_scales},
                     {.input = &x, .term = Term::kOver, .write = backward}});
  return {};
}

// The mask is drawn again for the gradient, which costs less than storing it.
Result<void> lower_dropout(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0]);
  Value& y = b.make_value(unit.node, x.needs_gradient);
  const std::size_t index = b.declare_dropout(unit.node);
  const DropoutDraw draw = draw_of({}, b.node(unit.node).layer.rate);
  const DropoutCall all{.images = b.batch(),
                        .positions = x.positions(),
                        .channels = channels_of(x),
                        .groups = channels_of(x) / kDropoutGroup,
                        .threshold = draw.threshold,
                        .kept = draw.kept};
  static_assert(kDropoutGroup == kLanes);
  const Type type = b.type();
  const auto run = [=, &b](const StepContext& context, Buffer* from, Buffer* to) {
    DropoutCall call = all;
    call.first = context.shard.first;
    call.key = b.key(index);
    if (!context.training) call.threshold = 0;
    if (!context.training) call.kept = 1;
    dropout(type, call, from->data, to->data, device().stream);
  };
  b.step({x.data, y.data},
         [=, x = x.data, y = y.data](const StepContext& context) { run(context, x, y); });
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.step({g, dx}, [=](const StepContext& context) { run(context, g, dx); });
  };
  b.on_gradients(y, {{.input = &x, .term = Term::kOver, .write = backward}});
  return {};
}

Result<void> lower_concat(Builder& b, const Unit& unit) {
  struct ConcatInput {
    Value* value;
    ChannelCopy copy;
  };
  std::vector<ConcatInput> inputs;
  std::int64_t first = 0;
  const std::int64_t width = padded(b.node(unit.node).shape.channels);
  for (NodeId input : b.node(unit.node).inputs) {
    Value& value = b.value(input);
    inputs.push_back({&value,
                      {.rows = b.rows(value),
                       .channels = value.shape.channels,
                       .from_width = channels_of(value),
                       .to_first = first,
                       .to_width = width}});
    first += value.shape.channels;
  }
  inputs.back().copy.clears_rest = true;
  const auto needs = [](const ConcatInput& input) { return input.value->needs_gradient; };
  Value& y = b.make_value(unit.node, std::ranges::any_of(inputs, needs));
  const Type type = b.type();
  std::vector<InputGradient> gradients;
  for (const ConcatInput& input : inputs) {
    b.step({input.value->data, y.data},
           [=, copy = input.copy, x = input.value->data, y = y.data](const StepContext&) {
             copy_channels(type, copy, x->data, y->data, device().stream);
           });
    const ChannelCopy back{.rows = input.copy.rows,
                           .channels = input.copy.channels,
                           .from_first = input.copy.to_first,
                           .from_width = width,
                           .to_width = input.copy.from_width,
                           .clears_rest = true};
    const auto backward = [=, &b](Buffer* g, Buffer* dx) {
      b.step({g, dx}, [=](const StepContext&) {
        copy_channels(type, back, g->data, dx->data, device().stream);
      });
    };
    gradients.push_back({.input = input.value, .write = backward});
  }
  b.on_gradients(y, std::move(gradients));
  return {};
}

}  // namespace detol::inline trainer::cuda

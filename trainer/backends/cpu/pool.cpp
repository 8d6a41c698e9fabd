// Pooling with our own kernels: bound by memory, nothing to compile, and NaN stays NaN.

#include <limits>

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {
namespace {

constexpr float kAnything = -std::numeric_limits<float>::infinity();

void lower_max(Builder& b, const Window& window, float floor, Value& x, Value& y) {
  const Kernels& kernels = *machine().kernels;
  Buffer* best = b.arena().make(b.floats(y) * sizeof(std::int32_t));
  b.step({x.data, y.data, best},
         [=, run = kernels.max_pool, x = x.data, y = y.data](const StepContext&) {
           run(window, floor, x->as<float>(), y->as<float>(), best->as<std::int32_t>());
         });
  const auto backward = [=, &b, run = kernels.max_pool_backward](Buffer* g, Buffer* dx) {
    b.step({g, best, dx}, [=](const StepContext&) {
      run(window, g->as<float>(), best->as<std::int32_t>(), dx->as<float>());
    });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
}

void lower_avg(Builder& b, const Window& window, Value& x, Value& y) {
  const Kernels& kernels = *machine().kernels;
  b.step({x.data, y.data}, [=, run = kernels.avg_pool, x = x.data, y = y.data](const StepContext&) {
    run(window, x->as<float>(), y->as<float>());
  });
  const auto backward = [=, &b, run = kernels.avg_pool_backward](Buffer* g, Buffer* dx) {
    b.step({g, dx}, [=](const StepContext&) { run(window, g->as<float>(), dx->as<float>()); });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
}

}  // namespace

Result<void> lower_pool(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const NodeId input = b.node(unit.node).inputs[0];
  Value& x = b.value(unit.relu ? b.node(input).inputs[0] : input, kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, x.needs_gradient);
  const Window window = window_of(b, layer, x, y);
  layer.kind == LayerKind::kMaxPool ? lower_max(b, window, unit.relu ? 0 : kAnything, x, y)
                                    : lower_avg(b, window, x, y);
  return {};
}

Result<void> lower_global_pool(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0], kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, x.needs_gradient);
  const Extent e = b.extent(x);
  const Kernels& kernels = *machine().kernels;
  b.step({x.data, y.data}, [=, run = kernels.global_pool, x = x.data, y = y.data](
                               const StepContext&) { run(e, x->as<float>(), y->as<float>()); });
  const auto backward = [=, &b, run = kernels.global_pool_backward](Buffer* g, Buffer* dx) {
    b.step({g, dx}, [=](const StepContext&) { run(e, g->as<float>(), dx->as<float>()); });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
  return {};
}

}  // namespace detol::inline trainer::cpu

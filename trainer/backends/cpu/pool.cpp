// Pooling with our own kernels: bound by memory, nothing to compile, and NaN stays NaN.

#include <limits>

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {
namespace {

constexpr float kAnything = -std::numeric_limits<float>::infinity();

void lower_max(Builder& b, const Unit& unit, const Window& window, Value& x) {
  Buffer* best = b.arena().make(b.floats(b.node(unit.node).shape, kBlocked) * sizeof(std::int32_t));
  const float floor = unit.relu ? 0 : kAnything;
  const auto forward = [=, &b](Buffer* from, Buffer* to) {
    b.call(kernels().max_pool, window, floor, from, to, best);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(kernels().max_pool_backward, window, g, best, dx);
  };
  b.unary(unit, x, {.forward = forward, .backward = backward});
}

void lower_avg(Builder& b, const Unit& unit, const Window& window, Value& x) {
  const auto forward = [=, &b](Buffer* from, Buffer* to) {
    b.call(kernels().avg_pool, window, from, to);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(kernels().avg_pool_backward, window, g, dx);
  };
  b.unary(unit, x, {.forward = forward, .backward = backward});
}

}  // namespace

Result<void> lower_pool(Builder& b, const Unit& unit) {
  const Node& node = b.node(unit.node);
  const NodeId before = node.inputs[0];
  Value& x = b.value(unit.relu ? b.node(before).inputs[0] : before, kBlocked);
  const Window window = window_of(b, node.layer, x.shape, node.shape);
  node.layer.kind == LayerKind::kMaxPool ? lower_max(b, unit, window, x)
                                         : lower_avg(b, unit, window, x);
  return {};
}

Result<void> lower_global_pool(Builder& b, const Unit& unit) {
  Value& x = b.input(unit, kBlocked);
  const Extent e = b.extent(x);
  const auto forward = [=, &b](Buffer* from, Buffer* to) {
    b.call(kernels().global_pool, e, from, to);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(kernels().global_pool_backward, e, g, dx);
  };
  b.unary(unit, x, {.forward = forward, .backward = backward});
  return {};
}

}  // namespace detol::inline trainer::cpu

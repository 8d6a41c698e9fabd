// Layer norm and RMS norm in blocks, with our own kernels: bound by memory. The mean and the
// deviation of every position are kept for the backward pass.

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {
namespace {

struct NormalizedLayer {
  Extent extent;
  std::int64_t channels;
  const Buffer *x, *mean, *inverse;
  const Parameter *gamma, *beta;  // beta: of a layer norm

  LayerNorm call() const {
    return {extent,
            channels,
            x->as<float>(),
            gamma->weight.as<float>(),
            beta != nullptr ? beta->weight.as<float>() : nullptr,
            mean->as<float>(),
            inverse->as<float>()};
  }
};

}  // namespace

Result<void> lower_layer_norm(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0], kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, true);
  const auto positions = static_cast<std::size_t>(b.batch() * x.shape.height * x.shape.width);
  Buffer *mean = b.floats_buffer(positions), *inverse = b.floats_buffer(positions);
  const NormalizedLayer norm{b.extent(x),
                             x.shape.channels,
                             x.data,
                             mean,
                             inverse,
                             b.parameters().claim(unit.node, "gamma"),
                             b.parameters().claim(unit.node, "beta")};
  const std::vector<Buffer*> kept = {x.data, mean, inverse};
  b.step({x.data, mean, inverse, y.data},
         [=, run = machine().kernels->layer_norm, y = y.data](const StepContext&) {
           run(norm.call(), y->as<float>());
         });
  const auto uses = [kept](std::initializer_list<Buffer*> more) {
    std::vector<Buffer*> all = kept;
    all.insert(all.end(), more);
    return all;
  };
  const auto own = [=, &b, run = machine().kernels->layer_norm_weights](Buffer* g) {
    b.step(uses({g}), [=](const StepContext&) {
      run(norm.call(), g->as<float>(), norm.gamma->gradient.as<float>(),
          norm.beta != nullptr ? norm.beta->gradient.as<float>() : nullptr);
    });
  };
  const auto backward = [=, &b, run = machine().kernels->layer_norm_backward](Buffer* g,
                                                                              Buffer* dx) {
    b.step(uses({g, dx}),
           [=](const StepContext&) { run(norm.call(), g->as<float>(), dx->as<float>()); });
  };
  b.on_gradients(y, {{.input = &x, .term = Term::kOver, .write = backward}}, own);
  return {};
}

}  // namespace detol::inline trainer::cpu

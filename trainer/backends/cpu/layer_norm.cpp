// Layer norm and RMS norm in blocks, with our own kernels: bound by memory. The mean and the
// deviation of every position are kept for the backward pass.

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {

Result<void> lower_layer_norm(Builder& b, const Unit& unit) {
  Value& x = b.input(unit, kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, true);
  const auto positions = static_cast<std::size_t>(b.batch() * x.positions());
  Buffer *mean = b.floats_buffer(positions), *inverse = b.floats_buffer(positions);
  Parameter* gamma = b.parameters().claim(unit.node, "gamma");
  Parameter* beta = b.parameters().claim(unit.node, "beta");  // of a layer norm
  const auto norm = [=, e = b.extent(x), channels = x.shape.channels, x = x.data] {
    const float* shift = beta != nullptr ? beta->weight.as<float>() : nullptr;
    return LayerNorm{e,     channels,          x->as<float>(),      gamma->weight.as<float>(),
                     shift, mean->as<float>(), inverse->as<float>()};
  };
  b.step({x.data, mean, inverse, y.data},
         [=, y = y.data](const StepContext&) { kernels().layer_norm(norm(), y->as<float>()); });
  const auto own = [=, &b, x = x.data](Buffer* g) {
    b.step({x, mean, inverse, g}, [=](const StepContext&) {
      kernels().layer_norm_weights(norm(), g->as<float>(), gamma->gradient.as<float>(),
                                   beta != nullptr ? beta->gradient.as<float>() : nullptr);
    });
  };
  const auto backward = [=, &b, x = x.data](Buffer* g, Buffer* dx) {
    b.step({x, mean, inverse, g, dx}, [=](const StepContext&) {
      kernels().layer_norm_backward(norm(), g->as<float>(), dx->as<float>());
    });
  };
  b.on_gradients(y, {{.input = &x, .term = Term::kOver, .write = backward}}, own);
  return {};
}

}  // namespace detol::inline trainer::cpu

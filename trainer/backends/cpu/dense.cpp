// Dense layers over plain vectors, by our own kernels (kernels_dense.h) in all directions.

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {

Result<void> lower_dense(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.value(b.node(unit.node).inputs[0], kPlain);
  Value& y = b.make_value(unit.node, kPlain, true);
  const DenseShape shape{b.batch(), x.shape.elements(), layer.channels};
  const std::int64_t padded = machine().padded(shape.outputs);
  const Dims extents = {shape.outputs, shape.inputs, 1, 1};
  const Tag blocks = machine().lanes() == 16 ? Tag::Acdb16a : Tag::Acdb8a;
  const Desc native = with_extents(floats_desc({padded, shape.inputs, 1, 1}, blocks), extents);
  Parameter* p = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd), native);
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  const std::ptrdiff_t floats = dense_scratch(padded, machine().lanes());
  Buffer* scratch = b.scratch(static_cast<std::size_t>(floats) * sizeof(float));
  const Kernels& kernels = *machine().kernels;
  b.step({x.data, y.data}, [=, &kernels, x = x.data, y = y.data](const StepContext&) {
    kernels.dense(shape, x->as<float>(), p->weight.as<float>(),
                  bias != nullptr ? bias->weight.as<float>() : nullptr, y->as<float>());
  });
  const auto of_weights = [=, &b, &kernels, x = x.data](Buffer* g) {
    b.step({g, x}, [=, &kernels](const StepContext&) {
      kernels.dense_weights(shape, x->as<float>(), g->as<float>(), p->gradient.as<float>(),
                            bias != nullptr ? bias->gradient.as<float>() : nullptr,
                            scratch->as<float>());
    });
  };
  const auto backward = [=, &b, &kernels](Buffer* g, Buffer* dx) {
    b.step({g, dx}, [=, &kernels](const StepContext&) {
      kernels.dense_backward(shape, g->as<float>(), p->weight.as<float>(), dx->as<float>(),
                             scratch->as<float>());
    });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}}, of_weights);
  return {};
}

}  // namespace detol::inline trainer::cpu

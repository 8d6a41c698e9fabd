// Dense layers over plain vectors, by our own kernels (kernels_dense.h) in all directions.

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {

Result<void> lower_dense(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.input(unit, kPlain);
  Value& y = b.make_value(unit.node, kPlain, true);
  const DenseShape shape{b.batch(), x.shape.elements(), layer.channels};
  const std::int64_t padded = machine().padded(shape.outputs);
  const Dims extents = {shape.outputs, shape.inputs, 1, 1};
  const Tag blocks = machine().lanes() == 16 ? Tag::Acdb16a : Tag::Acdb8a;
  const Desc native = with_extents(floats_desc({padded, shape.inputs, 1, 1}, blocks), extents);
  Parameter* weight =
      b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd), native);
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  const std::ptrdiff_t floats = dense_scratch(padded, machine().lanes());
  Buffer* scratch = b.scratch(static_cast<std::size_t>(floats) * sizeof(float));
  b.call(kernels().dense, shape, x.data, weight_of(weight), weight_of(bias), y.data);
  const auto own = [=, &b, x = x.data](Buffer* g) {
    b.call(kernels().dense_weights, shape, x, g, gradient_of(weight), gradient_of(bias), scratch);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(kernels().dense_backward, shape, g, weight_of(weight), dx, scratch);
  };
  b.on_gradients(y, {{.input = &x, .write = backward}}, own);
  return {};
}

}  // namespace detol::inline trainer::cpu

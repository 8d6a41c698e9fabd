// Convolutions of 3 x 3 taps by our own Winograd kernels (kernels_winograd.inc), in all directions.

#include "trainer/onednn/conv.h"

namespace detol::onednn {

Result<void> lower_winograd(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0], Layout::kBlocked);
  Value& y = b.make_value(unit.node, Layout::kBlocked, true);
  const Extent in = b.extent(x), out = b.extent(y);
  const std::int64_t inputs = machine().padded(x.shape.channels);
  const std::int64_t outputs = machine().padded(y.shape.channels);
  const Dims extents = {y.shape.channels, x.shape.channels, 3, 3};
  const Tag blocks = machine().lanes() == 16 ? Tag::OIhw16i16o : Tag::OIhw8i8o;
  const Desc native = with_extents(floats_desc({outputs, inputs, 3, 3}, blocks), extents);
  Parameter* p = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd), native);
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  const auto floats = static_cast<std::size_t>(winograd_scratch(inputs, outputs));
  Buffer* scratch = b.scratch(floats * sizeof(float));
  const Kernels& kernels = *machine().kernels;
  b.step({x.data, y.data}, [=, &kernels, x = x.data, y = y.data](const Turn&) {
    kernels.winograd(in, out, x->as<float>(), p->weight.as<float>(),
                     bias != nullptr ? bias->weight.as<float>() : nullptr, y->as<float>(),
                     scratch->as<float>());
  });
  b.on_backward([=, &b, &x, &y, &kernels] {
    Buffer* g = b.gradient(y);
    if (x.needs_gradient) {
      Buffer* dx = b.add_gradient(x);
      b.step({g, dx}, [=, &kernels](const Turn&) {
        kernels.winograd_backward(in, out, g->as<float>(), p->weight.as<float>(), dx->as<float>(),
                                  scratch->as<float>());
      });
    }
    b.step({g, x.data}, [=, &kernels, x = x.data](const Turn&) {
      kernels.winograd_weights(in, out, x->as<float>(), g->as<float>(), p->gradient.as<float>(),
                               bias != nullptr ? bias->gradient.as<float>() : nullptr,
                               scratch->as<float>());
    });
  });
  return {};
}

}  // namespace detol::onednn

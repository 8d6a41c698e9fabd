// The convolution that reads the image, by our own kernels (kernels_image.inc). The image has no
// gradient.

#include "trainer/onednn/conv.h"

namespace detol::onednn {

Result<void> lower_image(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.value(b.node(unit.node).inputs[0], Layout::kPlain);
  Value& y = b.make_value(unit.node, Layout::kBlocked, true);
  const ImageWindow window{.channels = x.shape.channels,
                           .height = x.shape.height,
                           .width = x.shape.width,
                           .kernel_height = height_of(layer),
                           .kernel_width = layer.kernel,
                           .stride = layer.stride,
                           .above = padding_above(layer),
                           .beside = padding_beside(layer),
                           .out = b.extent(y)};
  const Dims extents = {layer.channels, window.channels, window.kernel_height, layer.kernel};
  Dims padded = extents;
  padded[0] = machine().padded(layer.channels);
  const Tag blocks = machine().lanes() == 16 ? Tag::Ohwi16o : Tag::Ohwi8o;
  Parameter* p = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd),
                                      with_extents(floats_desc(padded, blocks), extents));
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  Buffer* scratch = b.scratch(static_cast<std::size_t>(window.padded_floats()) * sizeof(float));
  const Kernels& kernels = *machine().kernels;
  b.step({x.data, y.data}, [=, &kernels, x = x.data, y = y.data](const Turn&) {
    kernels.image(window, x->as<float>(), p->weight.as<float>(),
                  bias != nullptr ? bias->weight.as<float>() : nullptr, y->as<float>(),
                  scratch->as<float>());
  });
  b.on_backward([=, &b, &y, &kernels, x = x.data] {
    Buffer* g = b.gradient(y);
    b.step({g, x}, [=, &kernels](const Turn&) {
      kernels.image_weights(window, x->as<float>(), g->as<float>(), p->gradient.as<float>(),
                            bias != nullptr ? bias->gradient.as<float>() : nullptr,
                            scratch->as<float>());
    });
  });
  return {};
}

}  // namespace detol::onednn

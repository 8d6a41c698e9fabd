// The convolution that reads the image, by our own kernels (kernels_image.h). The image has no
// gradient.

#include "trainer/backends/cpu/conv.h"

namespace detol::inline trainer::cpu {
Result<void> lower_image(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.input(unit, kPlain);
  const std::int64_t channels = x.shape.channels;
  const Dims extents = {layer.channels, channels, height_of(layer), layer.kernel};
  Dims padded = extents;
  padded[0] = machine().padded(layer.channels);
  const Tag blocks = machine().lanes() == 16 ? Tag::Ohwi16o : Tag::Ohwi8o;
  const Desc native = floats_desc(padded, blocks);
  Value& y = b.make_value(unit.node, kBlocked, true);
  const ImageWindow window{.channels = channels,
                           .height = x.shape.height,
                           .width = x.shape.width,
                           .kernel_height = height_of(layer),
                           .kernel_width = layer.kernel,
                           .stride = layer.stride,
                           .above = padding_above(layer),
                           .beside = padding_beside(layer),
                           .out = b.extent(y)};
  Parameter* weight = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd),
                                           with_extents(native, extents));
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  Buffer* scratch = b.scratch(static_cast<std::size_t>(window.padded_floats()) * sizeof(float));
  b.call(kernels().image, window, x.data, weight_of(weight), weight_of(bias), y.data, scratch);
  b.on_gradients(y, {}, [=, &b, x = x.data](Buffer* g) {
    b.call(kernels().image_weights, window, x, g, gradient_of(weight), gradient_of(bias), scratch);
  });
  return {};
}

}  // namespace detol::inline trainer::cpu

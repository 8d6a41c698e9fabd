// The convolution that reads the image, by our own kernels (kernels_image.h). The image has no
// gradient.

#include "trainer/backends/cpu/conv.h"

namespace detol::inline trainer::cpu {
namespace {

struct Image {
  ImageWindow window;
  Parameter *weight = nullptr, *offset = nullptr;  // offset: if there is a bias
  Buffer* scratch = nullptr;
};

void write_image(Builder& b, const Image& i, Buffer* x, Buffer* y) {
  b.step({x, y}, [=, run = machine().kernels->image](const StepContext&) {
    const float* bias = i.offset != nullptr ? i.offset->weight.as<float>() : nullptr;
    run(i.window, x->as<float>(), i.weight->weight.as<float>(), bias, y->as<float>(),
        i.scratch->as<float>());
  });
}

void write_image_weights(Builder& b, const Image& i, Buffer* g, Buffer* x) {
  b.step({g, x}, [=, run = machine().kernels->image_weights](const StepContext&) {
    float* bias = i.offset != nullptr ? i.offset->gradient.as<float>() : nullptr;
    run(i.window, x->as<float>(), g->as<float>(), i.weight->gradient.as<float>(), bias,
        i.scratch->as<float>());
  });
}

}  // namespace

Result<void> lower_image(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const std::int64_t channels = b.value(b.node(unit.node).inputs[0]).shape.channels;
  const Dims extents = {layer.channels, channels, height_of(layer), layer.kernel};
  Dims padded = extents;
  padded[0] = machine().padded(layer.channels);
  const Tag blocks = machine().lanes() == 16 ? Tag::Ohwi16o : Tag::Ohwi8o;
  const Desc native = floats_desc(padded, blocks);
  Value& x = b.value(b.node(unit.node).inputs[0], kPlain);
  Value& y = b.make_value(unit.node, kBlocked, true);
  const ImageWindow window{.channels = x.shape.channels,
                           .height = x.shape.height,
                           .width = x.shape.width,
                           .kernel_height = height_of(layer),
                           .kernel_width = layer.kernel,
                           .stride = layer.stride,
                           .above = padding_above(layer),
                           .beside = padding_beside(layer),
                           .out = b.extent(y)};
  Image i{.window = window};
  i.weight = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd),
                                  with_extents(native, extents));
  i.offset = b.parameters().claim(unit.node, "bias");
  i.scratch = b.scratch(static_cast<std::size_t>(window.padded_floats()) * sizeof(float));
  write_image(b, i, x.data, y.data);
  b.on_gradients(y, {}, [=, &b, &x](Buffer* g) { write_image_weights(b, i, g, x.data); });
  return {};
}

}  // namespace detol::inline trainer::cpu

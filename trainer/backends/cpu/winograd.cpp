// Convolutions of 3 x 3 taps by our own Winograd kernels (kernels_winograd.h).

#include "trainer/backends/cpu/conv.h"

namespace detol::inline trainer::cpu {
namespace {

// Returns whether Winograd is faster. Tiles that cross the border waste work: for an image of 5 x
// 5, more than half of it. With few tiles, the transformation of the weights costs more than it
// saves, most of all if the weights exceed the cache: measured with 16 to 256 channels and 1 to 128
// tiles, Winograd is faster from 4 to 8 tiles on with up to 128 channels, from 12 to 16 with 256.
bool winograd_pays(const Shape& image, std::int64_t images, std::int64_t outputs) {
  const std::int64_t tiles = ((image.height + 3) / 4) * ((image.width + 3) / 4);
  return 16 * tiles <= 2 * image.height * image.width &&
         images * tiles >= 5 + image.channels * outputs / 8192;
}

}  // namespace

Result<void> lower_winograd(Builder& b, const Unit& unit) {
  const Shape image = b.input(unit).shape;
  const std::int64_t channels = b.node(unit.node).layer.channels;
  const std::int64_t inputs = machine().padded(image.channels);
  const std::int64_t outputs = machine().padded(channels);
  const Dims extents = {channels, image.channels, 3, 3};
  const Tag blocks = machine().lanes() == 16 ? Tag::OIhw16i16o : Tag::OIhw8i8o;
  const Desc native = floats_desc({outputs, inputs, 3, 3}, blocks);
  if (!winograd_pays(image, b.largest_batch(), channels)) return lower_direct(b, unit);
  Value& x = b.input(unit, kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, true);
  const auto floats = static_cast<std::size_t>(winograd_scratch(inputs, outputs));
  const Extent in = b.extent(x), out = b.extent(y);
  Parameter* weight = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd),
                                           with_extents(native, extents));
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  Buffer* scratch = b.scratch(floats * sizeof(float));
  b.call(kernels().winograd, in, out, x.data, weight_of(weight), weight_of(bias), y.data, scratch);
  const auto own = [=, &b, x = x.data](Buffer* g) {
    b.call(kernels().winograd_weights, in, out, x, g, gradient_of(weight), gradient_of(bias),
           scratch);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(kernels().winograd_backward, in, out, g, weight_of(weight), dx, scratch);
  };
  b.on_gradients(y, {{.input = &x, .write = backward}}, own);
  return {};
}

}  // namespace detol::inline trainer::cpu

// Convolutions of 3 x 3 taps by our own Winograd kernels (kernels_winograd.h).

#include "trainer/backends/cpu/conv.h"

namespace detol::inline trainer::cpu {
namespace {

struct WinogradConv {
  Extent in, out;
  Parameter *weight = nullptr, *offset = nullptr;  // offset: if there is a bias
  Buffer* scratch = nullptr;
};

void write_winograd(Builder& b, const WinogradConv& m, Buffer* x, Buffer* y) {
  b.step({x, y}, [=, run = machine().kernels->winograd](const StepContext&) {
    const float* bias = m.offset != nullptr ? m.offset->weight.as<float>() : nullptr;
    run(m.in, m.out, x->as<float>(), m.weight->weight.as<float>(), bias, y->as<float>(),
        m.scratch->as<float>());
  });
}

void write_winograd_data(Builder& b, const WinogradConv& m, Buffer* g, Buffer* dx) {
  b.step({g, dx}, [=, run = machine().kernels->winograd_backward](const StepContext&) {
    run(m.in, m.out, g->as<float>(), m.weight->weight.as<float>(), dx->as<float>(),
        m.scratch->as<float>());
  });
}

void write_winograd_weights(Builder& b, const WinogradConv& m, Buffer* g, Buffer* x) {
  b.step({g, x}, [=, run = machine().kernels->winograd_weights](const StepContext&) {
    float* bias = m.offset != nullptr ? m.offset->gradient.as<float>() : nullptr;
    run(m.in, m.out, x->as<float>(), g->as<float>(), m.weight->gradient.as<float>(), bias,
        m.scratch->as<float>());
  });
}

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
  const Shape image = b.value(b.node(unit.node).inputs[0]).shape;
  const std::int64_t channels = b.node(unit.node).layer.channels;
  const std::int64_t inputs = machine().padded(image.channels);
  const std::int64_t outputs = machine().padded(channels);
  const Dims extents = {channels, image.channels, 3, 3};
  const Tag blocks = machine().lanes() == 16 ? Tag::OIhw16i16o : Tag::OIhw8i8o;
  const Desc native = floats_desc({outputs, inputs, 3, 3}, blocks);
  if (!winograd_pays(image, b.largest_batch(), channels)) return lower_direct(b, unit);
  Value& x = b.value(b.node(unit.node).inputs[0], kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, true);
  const auto floats = static_cast<std::size_t>(winograd_scratch(inputs, outputs));
  WinogradConv m{.in = b.extent(x), .out = b.extent(y)};
  m.weight = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcd),
                                  with_extents(native, extents));
  m.offset = b.parameters().claim(unit.node, "bias");
  m.scratch = b.scratch(floats * sizeof(float));
  write_winograd(b, m, x.data, y.data);
  const auto of_weights = [=, &b, &x](Buffer* g) { write_winograd_weights(b, m, g, x.data); };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) { write_winograd_data(b, m, g, dx); };
  b.on_gradients(y, {{.input = &x, .write = backward}}, of_weights);
  return {};
}

}  // namespace detol::inline trainer::cpu

// Convolutions in groups.
//
// Depthwise: oneDNN's kernels where they are faster, else our own. Other groups that oneDNN cannot
// run fast become a dense convolution whose weights are zero between groups: groups times the work,
// at a hundred times the speed. In the same way a window over an image of one pixel is reduced to
// its centre.

#include <algorithm>
#include <cstring>

#include "trainer/backends/cpu/conv.h"

namespace detol::inline trainer::cpu {
namespace {

// GroupBlocks maps plain weights to the dense tensor that the primitives read: a block for each
// group's outputs and inputs, zero elsewhere. Of a window over an image of one pixel, only the
// centre is used.
struct GroupBlocks {
  std::int64_t groups, outputs, inputs;  // outputs and inputs of one group
  std::int64_t taps, first, used;        // of a window; the first used tap and their number
  std::int64_t row;                      // floats of one output in the dense tensor

  // Calls visit(offset in the weights, offset in the dense tensor), in floats, for runs of `used`.
  template <typename Visit>
  void for_runs(Visit visit) const {
    for (std::int64_t o = 0; o < groups * outputs; ++o) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        visit((o * inputs + i) * taps + first, o * row + (o / outputs * inputs + i) * used);
      }
    }
  }
};

void write_expand(Builder& b, const GroupBlocks& blocks, const Conv& c, const Buffer& weight) {
  const Desc plain = floats_desc(c.w.dims(), Tag::abcd);
  Buffer* dense = b.arena().make(plain.get_size());
  b.step({dense}, [=, &weight, bytes = plain.get_size()](const StepContext&) {
    std::memset(dense->data, 0, bytes);
    blocks.for_runs([&](std::int64_t from, std::int64_t to) {
      std::copy_n(weight.as<float>() + from, blocks.used, dense->as<float>() + to);
    });
  });
  write_reorder(b, plain, dense, c.w, c.weight);
}

void write_gather(Builder& b, const GroupBlocks& blocks, const Conv& c, const Buffer& gradient) {
  const Desc plain = floats_desc(c.w.dims(), Tag::abcd);
  Buffer* dense = b.arena().make(plain.get_size());
  write_reorder(b, c.w, c.weight_gradient, plain, dense);
  b.step({dense}, [=, &gradient](const StepContext&) {
    blocks.for_runs([&](std::int64_t to, std::int64_t from) {
      std::copy_n(dense->as<float>() + from, blocks.used, gradient.as<float>() + to);
    });
  });
}

}  // namespace

Result<void> lower_depthwise(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const std::int64_t height = height_of(layer), width = layer.kernel;
  const Dims extents = {layer.channels, 1, 1, height, width};
  const Desc blocked =
      floats_desc({machine().padded(layer.channels), 1, 1, height, width}, machine().depthwise);
  // oneDNN's kernels are faster forward and, where they exist, for the gradient of the weights.
  std::optional<DirectConv> direct;
  if (layer.channels % machine().lanes() == 0)
    direct = conv_between(b, unit, layer, kBlocked, kBlocked);
  if (direct && (!direct->primitives.forward || direct->conv.w != blocked)) direct.reset();
  Value& x = b.input(unit, kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, true);
  const Window window = window_of(b, layer, x.shape, y.shape);
  Parameter* weight = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcde),
                                           with_extents(blocked, extents));
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  const auto floats = static_cast<std::size_t>(window.padded_floats(machine().lanes()));
  Buffer* scratch = b.scratch(floats * sizeof(float));
  if (direct) {
    direct->conv.set_tensors(weight, bias);
    write_forward(b, direct->conv, direct->primitives, x, y);
  } else {
    b.call(kernels().depthwise, window, x.data, weight_of(weight), weight_of(bias), y.data,
           scratch);
  }
  const auto own = [=, &b, &x](Buffer* g) {
    if (direct && direct->primitives.weights)
      write_backward_weights(b, direct->conv, direct->primitives, g, x);
    else
      b.call(kernels().depthwise_weights, window, x.data, g, gradient_of(weight), gradient_of(bias),
             scratch);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(kernels().depthwise_backward, window, g, weight_of(weight), dx, scratch);
  };
  b.on_gradients(y, {{.input = &x, .write = backward}}, own);
  return {};
}

Result<void> lower_as_dense(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const Shape& image = b.input(unit).shape;
  const bool pixel = image.height * image.width == 1;
  Layer dense = layer;
  dense.groups = 1;
  if (pixel) dense.kernel = dense.kernel_height = dense.stride = dense.dilation = 1;
  const auto choice = choose_conv(b, unit, dense);
  if (!choice) return no_implementation(layer);
  Value& x = b.input(unit, choice->in);
  Value& y = b.make_value(unit.node, choice->out, true);
  Conv c = choice->conv;
  c.set_tensors(nullptr, b.parameters().claim(unit.node, "bias"));
  const std::int64_t groups = layer.groups, height = height_of(layer), width = layer.kernel;
  const std::int64_t taps = height * width, used = pixel ? 1 : taps;
  const GroupBlocks blocks{
      groups, layer.channels / groups, image.channels / groups, taps, pixel ? taps / 2 : 0,
      used,   c.x.dims()[1] * used};
  const Desc plain =
      floats_desc({groups, blocks.outputs, blocks.inputs, height, width}, Tag::abcde);
  const Parameter* p = b.parameters().claim(unit.node, "weight", plain, plain);
  c.weight = b.arena().make(c.w.get_size());
  c.weight_gradient = b.arena().make(c.w.get_size());
  const ConvPrimitives& all = choice->primitives;
  write_expand(b, blocks, c, p->weight);
  write_forward(b, c, all, x, y);
  const auto of_weights = [=, &b, &x](Buffer* g) {
    write_backward_weights(b, c, all, g, x);
    write_gather(b, blocks, c, p->gradient);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) { write_backward_data(b, c, all, g, dx); };
  b.on_gradients(y, {{.input = &x, .write = backward}}, of_weights);
  return {};
}

}  // namespace detol::inline trainer::cpu

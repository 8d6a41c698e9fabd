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

// Depthwise: a depthwise convolution, with its weights as blocks x height x width x lanes.
struct Depthwise {
  Window window;
  Buffer *weight = nullptr, *weight_gradient = nullptr;
  Buffer *offset = nullptr, *offset_gradient = nullptr;  // if there is a bias
  Buffer* scratch = nullptr;
};

void write_depthwise(Builder& b, const Depthwise& d, Buffer* x, Buffer* y) {
  b.step({x, y, d.scratch}, [=, run = machine().kernels->depthwise](const StepContext&) {
    const float* bias = d.offset != nullptr ? d.offset->as<float>() : nullptr;
    run(d.window, x->as<float>(), d.weight->as<float>(), bias, y->as<float>(),
        d.scratch->as<float>());
  });
}

void write_depthwise_data(Builder& b, const Depthwise& d, Buffer* g, Buffer* dx) {
  b.step({g, dx, d.scratch}, [=, run = machine().kernels->depthwise_backward](const StepContext&) {
    run(d.window, g->as<float>(), d.weight->as<float>(), dx->as<float>(), d.scratch->as<float>());
  });
}

void write_depthwise_weights(Builder& b, const Depthwise& d, Buffer* g, Buffer* x) {
  b.step({g, x, d.scratch}, [=, run = machine().kernels->depthwise_weights](const StepContext&) {
    float* bias = d.offset != nullptr ? d.offset_gradient->as<float>() : nullptr;
    run(d.window, x->as<float>(), g->as<float>(), d.weight_gradient->as<float>(), bias,
        d.scratch->as<float>());
  });
}

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
  Value& x = b.value(b.node(unit.node).inputs[0], kBlocked);
  Value& y = b.make_value(unit.node, kBlocked, true);
  Depthwise d{.window = window_of(b, layer, x, y)};
  Parameter* p = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::abcde),
                                      with_extents(blocked, extents));
  d.weight = &p->weight;
  d.weight_gradient = &p->gradient;
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  if (bias != nullptr) {
    d.offset = &bias->weight;
    d.offset_gradient = &bias->gradient;
  }
  const auto floats = static_cast<std::size_t>(d.window.padded_floats(machine().lanes()));
  d.scratch = b.scratch(floats * sizeof(float));
  if (direct) {
    direct->conv.weight = d.weight;
    direct->conv.weight_gradient = d.weight_gradient;
    direct->conv.offset = d.offset;
    direct->conv.offset_gradient = d.offset_gradient;
    write_forward(b, direct->conv, direct->primitives, x, y);
  } else {
    write_depthwise(b, d, x.data, y.data);
  }
  const auto of_weights = [=, &b, &x](Buffer* g) {
    if (direct && direct->primitives.weights)
      write_backward_weights(b, direct->conv, direct->primitives, g, x);
    else
      write_depthwise_weights(b, d, g, x.data);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) { write_depthwise_data(b, d, g, dx); };
  b.on_gradients(y, {{.input = &x, .write = backward}}, of_weights);
  return {};
}

Result<void> lower_as_dense(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  const Shape& image = b.value(b.node(unit.node).inputs[0]).shape;
  const bool pixel = image.height * image.width == 1;
  Layer dense = layer;
  dense.groups = 1;
  if (pixel) dense.kernel = dense.kernel_height = dense.stride = dense.dilation = 1;
  const auto choice = choose_conv(b, unit, dense);
  if (!choice) return no_implementation(layer);
  Value& x = b.value(b.node(unit.node).inputs[0], choice->in);
  Value& y = b.make_value(unit.node, choice->out, true);
  Conv c = choice->conv;
  claim_bias(b, unit, c);
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

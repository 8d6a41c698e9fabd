// Convolutions by cuDNN, dense layers by cuBLASLt.
//
// A grouped convolution whose inputs or outputs are no multiple of kLanes channels is computed as
// one convolution over all channels, with zeros as the weights between groups. If it is depthwise,
// it stays grouped, with one more group for each channel of padding.

#include "trainer/backends/cuda/lower.h"

namespace detol::inline trainer::cuda {
namespace {

struct Groups {
  std::int64_t count = 1;          // of cuDNN's convolution
  std::int64_t group_outputs = 0;  // as in WeightLayout
};

Groups groups_of(const Layer& layer, std::int64_t inputs) {
  const bool whole = inputs % kLanes == 0 && layer.channels % kLanes == 0;
  if (layer.groups == 1 || whole) return {layer.groups, 0};
  if (layer.groups == inputs && layer.channels == inputs) return {padded(inputs), 0};
  return {1, layer.channels / layer.groups};
}

ConvShape shape_of(const Builder& b, const Layer& layer, const Value& x, const Value& y,
                   const Groups& groups) {
  return {.direction = Direction::kForward,
          .type = b.type(),
          .tf32 = b.tf32(),
          .images = b.batch(),
          .inputs = channels_of(x),
          .height = x.shape.height,
          .width = x.shape.width,
          .outputs = channels_of(y),
          .out_height = y.shape.height,
          .out_width = y.shape.width,
          .kernel_height = height_of(layer),
          .kernel = layer.kernel,
          .stride = layer.stride,
          .dilation = layer.dilation,
          .groups = groups.count,
          .above = padding_above(layer),
          .beside = padding_beside(layer)};
}

WeightLayout weight_layout_of(const Layer& layer, const Value& x, const Value& y,
                              const Groups& groups) {
  return {.outputs = layer.channels,
          .taps = height_of(layer) * layer.kernel,
          .inputs = x.shape.channels / layer.groups,
          .padded_outputs = channels_of(y),
          .padded_inputs = channels_of(x) / groups.count,
          .group_outputs = groups.group_outputs};
}

// Plans holds the plans of the three directions.
struct Plans {
  const ConvPlan *forward = nullptr, *data = nullptr, *weights = nullptr;
};

Result<Plans> plans_of(Builder& b, ConvShape shape, bool needs_data) {
  Plans plans;
  DETOL_ASSIGN(plans.forward, b.plan(shape));
  shape.direction = Direction::kWeights;
  DETOL_ASSIGN(plans.weights, b.plan(shape));
  if (!needs_data) return plans;
  shape.direction = Direction::kData;
  DETOL_ASSIGN(plans.data, b.plan(shape));
  return plans;
}

void run_plan(const ConvPlan* plan, void* x, void* w, void* y, void* scratch) {
  plan->run(x, w, y, scratch);
}

using Product = std::shared_ptr<const Matmul>;

void run_product(const Product& product, const void* a, const void* b, void* c, void* scratch) {
  product->run(a, b, c, scratch, device().stream);
}

}  // namespace

void write_bias(Builder& b, Parameter* bias, const Value& y) {
  if (bias == nullptr) return;
  b.call(add_bias, b.type_of(y), weight_of(bias), y.data, b.rows(y), channels_of(y),
         DeviceStream());
}

void write_bias_gradient(Builder& b, Parameter* bias, const Value& y, Buffer* g) {
  if (bias == nullptr) return;
  Buffer* scratch = b.sums_scratch(sums_scratch_bytes(channels_of(y)));
  b.launch(bias_gradient, g, gradient_of(bias), b.rows(y), channels_of(y), scratch);
}

Result<void> lower_conv(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.input(unit);
  Value& y = b.make_value(unit.node, true);
  const Groups groups = groups_of(layer, x.shape.channels);
  DETOL_ASSIGN(const Plans plans, plans_of(b, shape_of(b, layer, x, y, groups), x.needs_gradient));
  Parameter* weight =
      b.parameters().claim(unit.node, "weight", weight_layout_of(layer, x, y, groups));
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  Buffer* scratch = b.scratch(0);
  b.call(run_plan, plans.forward, x.data, weight_of(weight), y.data, scratch);
  write_bias(b, bias, y);
  const auto own = [=, &b, &x, &y](Buffer* g) {
    b.call(run_plan, plans.weights, x.data, gradient_of(weight), g, scratch);
    write_bias_gradient(b, bias, y, g);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(run_plan, plans.data, dx, weight_of(weight), g, scratch);
  };
  b.on_gradients(y, {{.input = &x, .write = backward}}, own);
  return {};
}

// y = x w', dx = g w, dw = g' x.
Result<void> lower_dense(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.flattened(b.input(unit));
  Value& y = b.make_value(unit.node, true);
  const std::int64_t inputs = padded(x.shape.elements()), outputs = channels_of(y);
  if (b.is_output(unit.node)) {
    y.layout = kFloats;
    y.data = b.floats(b.elements(y));
  }
  Parameter* weight = b.parameters().claim(unit.node, "weight",
                                           {.outputs = layer.channels,
                                            .inputs = x.shape.elements(),
                                            .padded_outputs = outputs,
                                            .padded_inputs = inputs});
  Parameter* bias = b.parameters().claim(unit.node, "bias");
  const auto product = [&](MatmulShape shape) -> Product {
    shape.type = b.type();
    shape.tf32 = b.tf32();
    auto made = std::make_shared<Matmul>(shape, b.most_scratch());
    b.scratch(made->scratch_bytes());
    return made;
  };
  const Product forward = product({.rows = b.batch(),
                                   .columns = outputs,
                                   .inner = inputs,
                                   .b_transposed = true,
                                   .result = b.type_of(y)});
  const Product data =
      product({.rows = b.batch(), .columns = inputs, .inner = outputs, .result = b.type()});
  const Product weights = product({.rows = outputs,
                                   .columns = inputs,
                                   .inner = b.batch(),
                                   .a_transposed = true,
                                   .result = b.type()});
  Buffer* scratch = b.scratch(0);
  b.call(run_product, forward, x.data, weight_of(weight), y.data, scratch);
  write_bias(b, bias, y);
  const auto own = [=, &b, &x, &y](Buffer* g) {
    b.call(run_product, weights, g, x.data, gradient_of(weight), scratch);
    write_bias_gradient(b, bias, y, g);
  };
  const auto backward = [=, &b](Buffer* g, Buffer* dx) {
    b.call(run_product, data, g, weight_of(weight), dx, scratch);
  };
  b.on_gradients(y, {{.input = &x, .write = backward}}, own);
  return {};
}

}  // namespace detol::inline trainer::cuda

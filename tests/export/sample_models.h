#pragma once

// Models for the tests of this folder: small networks with drawn weights.

#include "core/rng.h"
#include "export/export.h"
#include "trainer/ensemble.h"
#include "trainer/quantization/quantize.h"

namespace detol::testing {

// Returns a network with a layer of that kind between a convolution and the head.
inline Network network_with(LayerKind kind) {
  NetworkBuilder b({2, 6, 6});
  const NodeId x = b.add({.kind = LayerKind::kConv,
                          .channels = kind == LayerKind::kAttention ? 8 : 4,
                          .kernel = 3,
                          .bias = true},
                         {b.input()});
  const NodeId pooled = b.add({.kind = LayerKind::kGlobalAvgPool}, {x});
  Layer layer{.kind = kind};
  std::vector<NodeId> inputs{x};
  if (kind == LayerKind::kConv) {
    layer = {.kind = kind, .channels = 8, .kernel = 3, .stride = 2, .groups = 4, .dilation = 2};
  }
  if (kind == LayerKind::kDense) layer.channels = 5;
  if (kind == LayerKind::kMaxPool || kind == LayerKind::kAvgPool) layer.kernel = layer.stride = 3;
  if (kind == LayerKind::kAdd) inputs = {x, x, x};
  if (kind == LayerKind::kConcat) inputs = {x, x, x};
  if (kind == LayerKind::kScale) inputs = {x, pooled};
  if (kind == LayerKind::kDropout) layer.rate = 0.5;
  if (kind == LayerKind::kQuantize) layer.scale = 0.05F, layer.zero_point = 97;
  if (kind == LayerKind::kAttention)
    layer = {.kind = kind, .heads = 2, .key_heads = 1, .causal = true, .rotary = true};
  const NodeId tested = kind == LayerKind::kInput ? x : b.add(layer, inputs);
  return b.build(b.add({.kind = LayerKind::kDense, .channels = 3, .bias = true}, {tested})).value();
}

// Returns one network with every kind of layer that trains and every transition between images and
// vectors.
inline Network network_of_everything() {
  NetworkBuilder b({3, 9, 9});
  const auto act = [&](Activation f, NodeId x) {
    return b.add({.kind = LayerKind::kActivation, .activation = f}, {x});
  };
  NodeId x = b.add({.kind = LayerKind::kConv, .channels = 8, .kernel = 3}, {b.input()}, "stem");
  x = act(Activation::kSilu, b.add({.kind = LayerKind::kBatchNorm}, {x}));
  const NodeId deep =
      b.add({.kind = LayerKind::kConv, .channels = 8, .kernel = 5, .groups = 8}, {x});
  const NodeId wide = b.add({.kind = LayerKind::kMaxPool, .kernel = 3}, {x});
  x = b.add({.kind = LayerKind::kAdd}, {deep, wide});
  NodeId gate = b.add({.kind = LayerKind::kGlobalAvgPool}, {x});
  gate = act(Activation::kRelu,
             b.add({.kind = LayerKind::kDense, .channels = 2, .bias = true}, {gate}));
  gate = b.add({.kind = LayerKind::kConv, .channels = 8, .bias = true}, {gate});
  gate = b.add({.kind = LayerKind::kDense, .channels = 8}, {gate});
  x = b.add({.kind = LayerKind::kScale}, {x, act(Activation::kSigmoid, gate)});
  x = b.add({.kind = LayerKind::kAvgPool, .kernel = 3, .stride = 2}, {x});
  const NodeId halved = b.add({.kind = LayerKind::kMaxPool, .kernel = 2, .stride = 2}, {wide});
  const NodeId smaller =
      b.add({.kind = LayerKind::kConv, .channels = 3, .kernel = 3, .kernel_height = 1, .stride = 2},
            {wide});
  x = b.add({.kind = LayerKind::kConcat}, {smaller, x});
  x = b.add({.kind = LayerKind::kLayerNorm}, {x});
  x = b.add({.kind = LayerKind::kFlatten},
            {b.add({.kind = LayerKind::kDropout, .rate = 0.3}, {x})});
  x = b.add({.kind = LayerKind::kDense, .channels = 6}, {x});
  const NodeId pooled = b.add({.kind = LayerKind::kGlobalAvgPool}, {halved});
  x = b.add({.kind = LayerKind::kConcat}, {b.add({.kind = LayerKind::kLayerNorm}, {x}), pooled});
  x = b.add({.kind = LayerKind::kBatchNorm},
            {b.add({.kind = LayerKind::kDense, .channels = 16, .bias = true}, {x})});
  return b.build(b.add({.kind = LayerKind::kDense, .channels = 4, .bias = true}, {x})).value();
}

// Returns a model with weights as after training: none is at its initial value, variances are
// positive.
inline Model model_of(Network network, std::uint64_t seed = 1) {
  Rng rng(seed);
  Model model;
  model.network = std::move(network);
  for (const NetworkParameter& parameter : model.network.parameters()) {
    Tensor tensor{parameter.name, parameter.spec.shape, {}};
    for (std::int64_t i = 0; i < parameter.spec.elements(); ++i) {
      const bool variance = parameter.spec.name == "running_var";
      tensor.data.push_back(
          static_cast<float>(variance ? rng.uniform(0.5, 2) : 0.3 * rng.normal()));
    }
    model.weights.push_back(std::move(tensor));
  }
  round_to_levels(model.network, model.weights);
  const auto channels = static_cast<std::size_t>(model.network.input_shape().channels);
  model.mean.assign(channels, 0.25f);
  model.deviation.assign(channels, 0.5f);
  model.class_names = {"T-shirt/top", "a \"quoted\" one"};
  for (auto k = std::ssize(model.class_names); k < model.network.output().shape.elements(); ++k)
    model.class_names.push_back("class " + std::to_string(k));
  model.class_names.resize(static_cast<std::size_t>(model.network.output().shape.elements()));
  model.properties = {{"study", "fashion"}, {"trial", "17"}};
  model.parameters = {{"lr", 0.01}, {"optimizer", std::string("sgd")}, {"nesterov", true}};
  model.metrics = {{"val_accuracy", 0.91}};
  return model;
}

// Returns an ensemble of three networks with that many outputs.
inline Model ensemble_of(TaskKind task, std::int64_t outputs) {
  std::vector<Model> members;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    NetworkBuilder b({2, 4, 4});
    NodeId x =
        b.add({.kind = LayerKind::kConv, .channels = 3, .kernel = 3, .bias = true}, {b.input()});
    if (seed == 2) x = b.add({.kind = LayerKind::kActivation}, {x});
    const Layer head{.kind = LayerKind::kDense, .channels = outputs, .bias = true};
    members.push_back(model_of(b.build(b.add(head, {x})).value(), seed));
  }
  Model model = members.front();
  model.network = join({&members[0].network, &members[1].network, &members[2].network}).value();
  model.weights =
      join(model.network, {&members[0].weights, &members[1].weights, &members[2].weights});
  model.shares = {0.5F, 0.3F, 0.2F};
  model.task = task;
  model.class_names.clear();
  return model;
}

// Returns a small network of pictures with that many outputs.
inline Network network_with_outputs(std::int64_t outputs) {
  NetworkBuilder b({3, 4, 4});
  return b.build(b.add({.kind = LayerKind::kDense, .channels = outputs, .bias = true}, {b.input()}))
      .value();
}

// Returns an encoder with every kind of column and encoding.
inline TableEncoder mixed_table() {
  const auto number = [](const char* name, NumberEncoding encoding) {
    TableColumn column;
    column.name = name;
    column.encoding = encoding;
    column.mean = 3;
    column.deviation = 2.5F;
    column.fill = 4;
    if (encoding != NumberEncoding::kStandard) column.knots = {-1, 0.5F, 2, 7};
    return column;
  };
  TableColumn age = number("age", NumberEncoding::kStandard);
  age.marks_missing = true;
  TableColumn born = number("born", NumberEncoding::kQuantile);
  born.kind = ColumnKind::kDate;
  born.knots = {-100, 20, 1000};
  TableColumn colour, size;
  colour.name = "colour";
  colour.kind = size.kind = ColumnKind::kCategory;
  colour.categories = {"red", "", "dark green"};
  size.name = "input";
  size.categories = {"S", "L"};
  size.pools_rare = true;
  return {.columns = {age, number("height.cm", NumberEncoding::kPiecewise), born, colour,
                      number("weight", NumberEncoding::kQuantile), size}};
}

inline Network network_of_table(const TableEncoder& table) {
  NetworkBuilder b({static_cast<std::int64_t>(table.inputs()), 1, 1});
  const NodeId x = b.add({.kind = LayerKind::kDense, .channels = 5, .bias = true}, {b.input()});
  return b
      .build(b.add({.kind = LayerKind::kDense, .channels = 3},
                   {b.add({.kind = LayerKind::kActivation}, {x})}))
      .value();
}

// Makes it a model of that table.
inline void set_table(Model& model, const TableEncoder& table) {
  model.table = std::make_shared<TableEncoder>(table);
  model.mean.assign(table.inputs(), 0);
  model.deviation.assign(table.inputs(), 1);
  model.reads_pixels = false;
}

}  // namespace detol::testing

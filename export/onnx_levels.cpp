#include "export/onnx_levels.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "export/onnx_attributes.h"
#include "export/refuse.h"
#include "trainer/quantization/quantize.h"

namespace detol::inline exporting {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr const char* kQuantizedSuffix = ".levels";

// Adds the DequantizeLinear of a constant, called `name`, with a scale per output channel.
std::string dequantized(OnnxNodes& nodes, const std::string& name, const std::string& levels,
                        const std::vector<float>& scales) {
  const Integers shape = {static_cast<std::int64_t>(scales.size())};
  const std::string scale = nodes.floats(name + ".scale", shape, scales);
  OnnxNodes::set_int(nodes.add("DequantizeLinear", name, {levels, scale}), "axis", 0);
  return name;
}

}  // namespace

void add_levels(OnnxNodes& nodes, const Node& node, const std::string& edge) {
  const std::string scale = nodes.floats(node.name + ".scale", {}, {node.layer.scale});
  const std::string zero =
      nodes.constant(node.name + ".zero_point", {}, onnx::TensorProto::UINT8,
                     std::vector<std::uint8_t>{static_cast<std::uint8_t>(node.layer.zero_point)});
  const std::string levels = node.name + kQuantizedSuffix;
  nodes.add("QuantizeLinear", levels, {edge, scale, zero});
  nodes.add("DequantizeLinear", node.name, {levels, scale, zero});
}

std::vector<std::string> add_integer_weights(OnnxNodes& nodes, std::span<const Tensor> tensors,
                                             const Layer& quantizer) {
  const Tensor& weight = tensors.front();
  const ChannelLevels levels = levels_of(weight);
  std::vector<std::string> names = {
      dequantized(nodes, weight.name,
                  nodes.constant(weight.name + kQuantizedSuffix, weight.shape,
                                 onnx::TensorProto::INT8, levels.weights),
                  levels.scales)};
  if (tensors.size() == 1) return names;
  const Tensor& bias = tensors.back();
  std::vector<float> scales;
  std::vector<std::int32_t> integers;
  for (std::size_t i = 0; i < bias.data.size(); ++i) {
    scales.push_back(quantizer.scale * levels.scales[i]);
    integers.push_back(static_cast<std::int32_t>(std::lround(bias.data[i] / scales.back())));
  }
  names.push_back(dequantized(
      nodes, bias.name,
      nodes.constant(bias.name + kQuantizedSuffix, bias.shape, onnx::TensorProto::INT32, integers),
      scales));
  return names;
}

Result<Layer> read_levels(const OnnxConstants& constants, const onnx::NodeProto& node) {
  if (node.input_size() != 3) return refuse("it has no zero point");
  Layer layer{.kind = LayerKind::kQuantize};
  DETOL_ASSIGN(const auto scale, constants.floats(node.input(1), {}));
  DETOL_ASSIGN(const auto zero, constants.bytes(node.input(2), {}));
  layer.scale = scale.front();
  layer.zero_point = zero.front();
  return layer;
}

Result<void> OnnxIntegerWeights::read(OnnxConstants& constants, const onnx::NodeProto& node) {
  if (node.input_size() != 2) return refuse("a weight of integers has no zero point");
  OnnxAttributes attributes(node);
  attributes.must_be("axis", 0, 1);
  DETOL_TRY(attributes.finish());
  Tensor tensor{.name = {}, .shape = {}, .data = {}};
  DETOL_ASSIGN(const onnx::TensorProto* constant, constants.take(node.input(0)));
  tensor.shape.assign(constant->dims().begin(), constant->dims().end());
  if (tensor.shape.empty()) return refuse("a weight of integers has no channels");
  DETOL_ASSIGN(tensor.data, constants.integers_as_floats(node.input(0)));
  DETOL_ASSIGN(const auto scales, constants.floats(node.input(1), {tensor.shape.front()}));
  const std::size_t size = tensor.data.size() / scales.size();
  for (std::size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] *= scales[i / size];
  if (by_output_.emplace(node.output(0), std::move(tensor)).second) return {};
  return refuse("another node has this output");
}

const Tensor* OnnxIntegerWeights::find(const std::string& output) const {
  const auto found = by_output_.find(output);
  return found != by_output_.end() ? &found->second : nullptr;
}

Result<void> OnnxIntegerWeights::give(const std::string& output, const std::string& parameter) {
  auto given = by_output_.extract(output);
  given.key() = given.mapped().name = parameter;
  if (by_parameter_.insert(std::move(given)).inserted) return {};
  return refuse("another node has this name");
}

const Tensor* OnnxIntegerWeights::of(const std::string& parameter) const {
  const auto found = by_parameter_.find(parameter);
  return found != by_parameter_.end() ? &found->second : nullptr;
}

}  // namespace detol::inline exporting

#include "encodings/cost.h"

#include <fmt/format.h>

#include <algorithm>

namespace detol {
namespace {

constexpr double kMost = 0x1.0p62;

// 1,234,567
std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

// Floats that a backend may need besides, for one layer at a time: a convolution of 3 x 3 taps by
// minimal filtering transforms its weights (36 + 9 for each 9) and 48 tiles (36 values for each
// 16).
double workspace_of(const Layer& layer, const std::vector<Shape>& inputs) {
  if (layer.kind != LayerKind::kConv || layer.kernel != 3 || layer.groups > 1) return 0;
  const auto padded = [](std::int64_t channels) {
    return static_cast<double>((channels + 15) / 16 * 16);
  };
  const double in = padded(inputs.front().channels), out = padded(layer.channels);
  return 45 * in * out + 36 * 48 * (in + out + 1);
}

}  // namespace

Result<Cost> cost_of(const Network& network, const Recipe& recipe) {
  double params = 0, flops = 0, activations = 0, largest = 0, workspace = 0;
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const Node& node = network.nodes()[id];
    const std::vector<Shape> inputs = network.input_shapes(id);
    activations += static_cast<double>(node.shape.elements());
    largest = std::max(largest, static_cast<double>(node.shape.elements()));
    workspace = std::max(workspace, workspace_of(node.layer, inputs));
    for (const ParameterSpec& spec : parameters_of(node.layer, inputs)) {
      double elements = 1;
      for (std::int64_t extent : spec.shape) elements *= static_cast<double>(extent);
      if (spec.trainable) params += elements;
    }
    if (params > kMost) return fail(ErrorCode::kInput, fmt::format("{:.3g} parameters", params));
    flops += flops_of(node.layer, inputs, node.shape);
  }
  // Weights, gradients, at most two optimiser moments and perhaps the averaged weights, what a
  // group keeps back or has under way; every
  // activation and its gradient, and one more term of the gradient that is being summed up; one
  // layer's workspace.
  const double waiting = recipe.staleness > 0 ? recipe.staleness + 1 : 0;
  const double kept_back = recipe.compression == "none" ? 0 : 1;
  const double copies = (recipe.ema > 0 ? 5 : 4) + waiting + kept_back;
  const double images = static_cast<double>(recipe.batch_size);
  const double memory =
      4.0 * (copies * params + (2.0 * activations + largest) * images + workspace);
  for (double number : {flops, activations, memory}) {
    if (number > kMost)
      return fail(ErrorCode::kInput, fmt::format("{:.3g} bytes or FLOPs", number));
  }
  return Cost{static_cast<std::int64_t>(params), static_cast<std::int64_t>(flops),
              static_cast<std::int64_t>(activations), static_cast<std::int64_t>(memory)};
}

std::string broken_constraints(const Cost& cost, const Constraints& constraints) {
  std::string broken;
  const auto check = [&](std::string_view what, std::int64_t is, double most) {
    if (static_cast<double>(is) <= most) return;
    if (!broken.empty()) broken += "; ";
    broken += fmt::format("{} {} > {}", what, grouped(static_cast<double>(is)), grouped(most));
  };
  check("params", cost.params, constraints.max_params);
  check("flops", cost.flops, constraints.max_flops);
  check("memory", cost.memory, constraints.max_memory);
  return broken;
}

}  // namespace detol

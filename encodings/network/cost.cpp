#include "encodings/network/cost.h"

#include <fmt/format.h>

namespace detol::inline encoding {
namespace {

constexpr double kMost = 0x1.0p62;

// Formats a number as 1,234,567.
std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace

Result<Cost> cost_of(const Network& network) {
  double params = 0, flops = 0, activations = 0;
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const Node& node = network.nodes()[id];
    const std::vector<Shape> inputs = network.input_shapes(id);
    activations += static_cast<double>(node.shape.elements());
    for (const ParameterSpec& spec : parameters_of(node.layer, inputs)) {
      double elements = 1;
      for (std::int64_t extent : spec.shape) elements *= static_cast<double>(extent);
      if (spec.trainable) params += elements;
    }
    if (params > kMost) return fail(ErrorCode::kInput, fmt::format("{:.3g} parameters", params));
    flops += flops_of(node.layer, inputs, node.shape);
  }
  for (double number : {flops, activations}) {
    if (number > kMost)
      return fail(ErrorCode::kInput, fmt::format("{:.3g} FLOPs or activations", number));
  }
  return Cost{.params = static_cast<std::int64_t>(params),
              .flops = static_cast<std::int64_t>(flops),
              .activations = static_cast<std::int64_t>(activations)};
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
  if (cost.memory) check("memory", *cost.memory, constraints.max_memory);
  return broken;
}

}  // namespace detol::inline encoding

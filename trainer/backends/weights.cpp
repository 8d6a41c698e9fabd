#include "trainer/backends/weights.h"

#include <cmath>
#include <map>
#include <string_view>

#include "core/rng.h"

namespace detol::inline trainer {
namespace {

std::int64_t fan_in(const ParameterSpec& weight) {
  return weight.elements() / weight.shape.front();
}

void draw_he_normal(const ParameterSpec& spec, Rng rng, std::span<float> values) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(fan_in(spec)));
  for (float& value : values) value = static_cast<float>(deviation * rng.normal());
}

}  // namespace

Weights initial_weights(const Network& network, std::uint64_t seed) {
  Weights weights;
  for (const NetworkParameter& parameter : network.parameters()) {
    const ParameterSpec& spec = parameter.spec;
    const bool one = spec.name == "gamma" || spec.name == "running_var";
    Tensor tensor{parameter.name, spec.shape, {}};
    tensor.data.assign(static_cast<std::size_t>(spec.elements()), one ? 1.0f : 0.0f);
    if (spec.name == "weight") {
      draw_he_normal(spec, Rng(seed).split(weights.size()), tensor.data);
    }
    weights.push_back(std::move(tensor));
  }
  return weights;
}

Weights in_order_of(const Network& network, const Weights& weights) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const Tensor& tensor : weights) by_name.emplace(tensor.name, &tensor);
  Weights ordered;
  for (const NetworkParameter& parameter : network.parameters())
    ordered.push_back(*by_name.at(parameter.name));
  return ordered;
}

Weights zeros_like(const Network& network) {
  Weights zeros;
  for (const NetworkParameter& parameter : network.parameters()) {
    if (!parameter.spec.trainable) continue;
    const auto elements = static_cast<std::size_t>(parameter.spec.elements());
    zeros.push_back({parameter.name, parameter.spec.shape, std::vector<float>(elements)});
  }
  return zeros;
}

}  // namespace detol::inline trainer

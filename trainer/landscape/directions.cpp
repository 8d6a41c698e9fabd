#include "trainer/landscape/directions.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace detol::inline trainer {
namespace {

double norm(std::span<const float> numbers) {
  double squares = 0;
  for (const float number : numbers) squares += static_cast<double>(number) * number;
  return std::sqrt(squares);
}

void fill(std::span<float> filter, std::span<const float> weights, Rng& rng) {
  for (float& number : filter) number = static_cast<float>(rng.normal());
  const double length = norm(filter);
  const double factor = length > 0 ? norm(weights) / length : 0;
  for (float& number : filter) number = static_cast<float>(number * factor);
}

}  // namespace

Weights filter_normalised_direction(const Network& network, const Weights& weights,
                                    const Rng& rng) {
  const std::vector<NetworkParameter> parameters = network.parameters();
  Weights direction = weights;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    Tensor& tensor = direction[i];
    std::ranges::fill(tensor.data, 0.0F);
    if (tensor.shape.size() < 2 || !parameters[i].spec.trainable) continue;
    Rng stream = rng.split(i);
    const auto filters = static_cast<std::size_t>(tensor.shape.front());
    const std::size_t size = tensor.data.size() / filters;
    for (std::size_t first = 0; first < tensor.data.size(); first += size)
      fill(std::span(tensor.data).subspan(first, size),
           std::span(weights[i].data).subspan(first, size), stream);
  }
  return direction;
}

}  // namespace detol::inline trainer

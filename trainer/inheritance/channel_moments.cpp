#include "trainer/inheritance/channel_moments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "encodings/network/activation_functions.h"

namespace detol::inline trainer {
namespace {

// The mean and the variance of max(0, x) of a normal x.
void rectify(double& mean, double& variance) {
  const double deviation = std::sqrt(variance);
  if (deviation <= 0) {
    mean = std::max(mean, 0.0);
    return;
  }
  const double z = mean / deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double first = mean * below + deviation * density;
  const double second = (mean * mean + variance) * below + mean * deviation * density;
  mean = first;
  variance = std::max(second - first * first, 0.0);
}

ChannelMoments of_product(const Node& node, const ChannelMoments& in, const NodeNumbers& numbers) {
  const auto outputs = static_cast<std::size_t>(node.shape.channels);
  const std::size_t per_output = numbers.weight.size() / outputs;
  const auto groups = static_cast<std::size_t>(node.layer.groups);
  const std::size_t inputs = in.mean.size() / groups;  // of each group
  const std::size_t window = per_output / inputs;      // weights of one input channel
  ChannelMoments out{std::vector<double>(outputs), std::vector<double>(outputs)};
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::size_t first = o / (outputs / groups) * inputs;
    for (std::size_t w = 0; w < per_output; ++w) {
      const double weight = static_cast<double>(numbers.weight[o * per_output + w]);
      out.mean[o] += weight * in.mean[first + w / window];
      out.variance[o] += weight * weight * in.variance[first + w / window];
    }
    if (!numbers.bias.empty()) out.mean[o] += static_cast<double>(numbers.bias[o]);
  }
  return out;
}

ChannelMoments of_normalised(const Node& node, const NodeNumbers& numbers) {
  ChannelMoments out;
  for (std::size_t c = 0; c < static_cast<std::size_t>(node.shape.channels); ++c) {
    const double gamma = static_cast<double>(numbers.gamma[c]);
    out.mean.push_back(numbers.beta.empty() ? 0 : static_cast<double>(numbers.beta[c]));
    out.variance.push_back(gamma * gamma);
  }
  return out;
}

ChannelMoments of_sum(std::span<const ChannelMoments* const> inputs) {
  ChannelMoments sum = *inputs.front();
  for (const ChannelMoments* input : inputs.subspan(1)) {
    for (std::size_t c = 0; c < sum.mean.size(); ++c) {
      sum.mean[c] += input->mean[c];
      sum.variance[c] += input->variance[c];
    }
  }
  return sum;
}

ChannelMoments of_scaled(const ChannelMoments& x, const ChannelMoments& by) {
  ChannelMoments out = x;
  for (std::size_t c = 0; c < out.mean.size(); ++c) {
    out.mean[c] *= by.mean[c];
    out.variance[c] *= by.mean[c] * by.mean[c];
  }
  return out;
}

// Channels one after another, each repeated: of a concatenation, or flattened.
ChannelMoments of_list(std::span<const ChannelMoments* const> inputs, std::size_t repeats) {
  ChannelMoments out;
  for (const ChannelMoments* input : inputs) {
    for (std::size_t c = 0; c < input->mean.size(); ++c) {
      out.mean.insert(out.mean.end(), repeats, input->mean[c]);
      out.variance.insert(out.variance.end(), repeats, input->variance[c]);
    }
  }
  return out;
}

// Sets both moments to those of a function of a normal variable, by Gauss-Hermite quadrature of
// seven points (Abramowitz and Stegun, 25.4.46, for the weight exp(-x^2 / 2) / sqrt(2 pi)).
void apply(Activation function, double& mean, double& variance) {
  struct Point {
    double at, weight;
  };
  constexpr std::array kPoints = {
      Point{0, 0.457142857142857}, Point{1.154405394739968, 0.240123178605013},
      Point{2.366759410734541, 0.030757123967586}, Point{3.750439717725742, 0.000548268855972}};
  const double deviation = std::sqrt(variance);
  double first = 0, second = 0;
  for (const auto& [at, weight] : kPoints) {
    for (const double side : {-at, at}) {
      const double value = value_of(function, mean + deviation * side);
      const double share = at == 0 ? weight / 2 : weight;
      first += share * value;
      second += share * value * value;
    }
  }
  mean = first;
  variance = std::max(second - first * first, 0.0);
}

ChannelMoments of_activated(const ChannelMoments& in, Activation function) {
  ChannelMoments out = in;
  for (std::size_t c = 0; c < out.mean.size(); ++c) {
    if (function == Activation::kRelu)
      rectify(out.mean[c], out.variance[c]);
    else
      apply(function, out.mean[c], out.variance[c]);
  }
  return out;
}

// Returns the moments of the values that each head averages: their mean, and a variance that
// averaging does not exceed.
ChannelMoments of_values(const ChannelMoments& in, const Layer& layer) {
  const std::size_t parts = static_cast<std::size_t>(layer.heads + 2 * layer.key_heads);
  const std::size_t width = in.mean.size() / parts;
  const auto values =
      static_cast<std::ptrdiff_t>(static_cast<std::size_t>(layer.heads + layer.key_heads) * width);
  ChannelMoments out;
  for (std::int64_t head = 0; head < layer.heads; ++head) {
    const std::ptrdiff_t first =
        values + head * layer.key_heads / layer.heads * static_cast<std::ptrdiff_t>(width);
    const auto append = [&](std::vector<double>& to, const std::vector<double>& from) {
      to.insert(to.end(), from.begin() + first,
                from.begin() + first + static_cast<std::ptrdiff_t>(width));
    };
    append(out.mean, in.mean);
    append(out.variance, in.variance);
  }
  return out;
}

}  // namespace

ChannelMoments moments_after(const Node& node, std::span<const ChannelMoments* const> inputs,
                             const NodeNumbers& numbers) {
  const auto channels = static_cast<std::size_t>(node.shape.channels);
  const LayerRow& row = row_of(node.layer.kind);
  if (row.role == LayerRole::kProduct) return of_product(node, *inputs.front(), numbers);
  if (row.parameters != nullptr) return of_normalised(node, numbers);
  switch (node.layer.kind) {
    case LayerKind::kInput:
      return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
    case LayerKind::kActivation:
      return of_activated(*inputs.front(), node.layer.activation);
    case LayerKind::kAdd:
      return of_sum(inputs);
    case LayerKind::kScale:
      return of_scaled(*inputs[0], *inputs[1]);
    case LayerKind::kConcat:
      return of_list(inputs, 1);
    case LayerKind::kFlatten:
      return of_list(inputs, channels / inputs.front()->mean.size());
    case LayerKind::kAttention:
      return of_values(*inputs.front(), node.layer);
    default:
      return *inputs.front();
  }
}

}  // namespace detol::inline trainer

#include "trainer/inheritance/channel_moments.h"

#include <cmath>
#include <numbers>

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
    out.mean.push_back(static_cast<double>(numbers.beta[c]));
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

ChannelMoments of_activated(const ChannelMoments& in, Activation activation) {
  ChannelMoments out = in;
  for (std::size_t c = 0; c < out.mean.size(); ++c) {
    if (activation == Activation::kSigmoid) {
      out.mean[c] = 1 / (1 + std::exp(-in.mean[c]));
      out.variance[c] = in.variance[c] / 16;
    } else {
      rectify(out.mean[c], out.variance[c]);
    }
  }
  return out;
}

}  // namespace

ChannelMoments moments_after(const Node& node, std::span<const ChannelMoments* const> inputs,
                             const NodeNumbers& numbers) {
  const auto channels = static_cast<std::size_t>(node.shape.channels);
  switch (node.layer.kind) {
    case LayerKind::kInput:
      return {std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)};
    case LayerKind::kConv:
    case LayerKind::kDense:
      return of_product(node, *inputs.front(), numbers);
    case LayerKind::kBatchNorm:
    case LayerKind::kLayerNorm:
      return of_normalised(node, numbers);
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
    case LayerKind::kMaxPool:
    case LayerKind::kAvgPool:
    case LayerKind::kGlobalAvgPool:
    case LayerKind::kDropout:
    case LayerKind::kQuantize:
      return *inputs.front();
  }
  return *inputs.front();
}

}  // namespace detol::inline trainer

#pragma once

// Layer norm, position by position over the blocks of its channels; without beta RMS norm, whose
// mean is 0. The padding of the last block
// is left out and stays zero.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/lanes.h"
#include "trainer/backends/norm_constants.h"

namespace detol::inline trainer::cpu {
namespace {

double total_of(Lanes values) {
  double sum = 0;
  for (std::ptrdiff_t c = 0; c < kLanes; ++c) sum += static_cast<double>(values[c]);
  return sum;
}

// Returns 1 in each lane of the last block that holds a channel, 0 in the padding.
Lanes last_block_of(const LayerNorm& n) {
  Lanes used{};
  const std::ptrdiff_t padding = n.extent.blocks * kLanes - n.channels;
  for (std::ptrdiff_t c = 0; c < kLanes - padding; ++c) used[c] = 1.0f;
  return used;
}

// Calls visit(offset of a position's first block in floats, index of the position over all images).
template <typename Visit>
inline __attribute__((always_inline)) void for_positions(const Extent& e, Visit visit) {
  for (std::ptrdiff_t n = 0; n < e.images; ++n) {
    for (std::ptrdiff_t p = 0; p < e.positions(); ++p) {
      visit((n * e.blocks * e.positions() + p) * kLanes, n * e.positions() + p);
    }
  }
}

// Returns the distance from the mean of the channels of the position at `first`.
Lanes distance(const LayerNorm& n, std::ptrdiff_t first, std::ptrdiff_t block, float mean,
               Lanes last) {
  const Lanes d = load(n.x + first + block * n.extent.positions() * kLanes) - mean;
  return block + 1 < n.extent.blocks ? d : d * last;
}

void measure_position(const LayerNorm& n, std::ptrdiff_t first, std::ptrdiff_t at, Lanes last) {
  const std::ptrdiff_t stride = n.extent.positions() * kLanes;
  const auto channels = static_cast<double>(n.channels);
  Lanes sum{}, squares{};
  for (std::ptrdiff_t b = 0; b < n.extent.blocks; ++b) sum += load(n.x + first + b * stride);
  const auto mean = n.beta == nullptr ? 0.0f : static_cast<float>(total_of(sum) / channels);
  for (std::ptrdiff_t b = 0; b < n.extent.blocks; ++b) {
    const Lanes d = distance(n, first, b, mean, last);
    squares += d * d;
  }
  n.mean[at] = mean;
  n.inverse[at] =
      static_cast<float>(1 / __builtin_sqrt(total_of(squares) / channels + kNormEpsilon));
}

void layer_norm(const LayerNorm& n, float* y) {
  const Lanes last = last_block_of(n);
  for_positions(n.extent, [&](std::ptrdiff_t first, std::ptrdiff_t at) {
    measure_position(n, first, at, last);
    for (std::ptrdiff_t b = 0; b < n.extent.blocks; ++b) {
      const Lanes normal = distance(n, first, b, n.mean[at], last) * n.inverse[at];
      store(y + first + b * n.extent.positions() * kLanes,
            normal * load(n.gamma + b * kLanes) +
                (n.beta == nullptr ? Lanes{} : load(n.beta + b * kLanes)));
    }
  });
}

// dx = inverse * (g gamma - mean(g gamma) - normal * mean(g gamma normal)).
void layer_norm_backward(const LayerNorm& n, const float* g, float* dx) {
  const Lanes last = last_block_of(n);
  const std::ptrdiff_t stride = n.extent.positions() * kLanes;
  const auto channels = static_cast<double>(n.channels);
  for_positions(n.extent, [&](std::ptrdiff_t first, std::ptrdiff_t at) {
    const float mean = n.mean[at], inverse = n.inverse[at];
    Lanes sum{}, moment{};
    for (std::ptrdiff_t b = 0; b < n.extent.blocks; ++b) {
      const Lanes term = load(g + first + b * stride) * load(n.gamma + b * kLanes);
      sum += term;
      moment += term * distance(n, first, b, mean, last) * inverse;
    }
    const auto mean_g = n.beta == nullptr ? 0.0f : static_cast<float>(total_of(sum) / channels);
    const auto slope = static_cast<float>(total_of(moment) / channels);
    for (std::ptrdiff_t b = 0; b < n.extent.blocks; ++b) {
      const Lanes term = load(g + first + b * stride) * load(n.gamma + b * kLanes);
      const Lanes normal = distance(n, first, b, mean, last) * inverse;
      const Lanes change = (term - mean_g - normal * slope) * inverse;
      store(dx + first + b * stride, b + 1 < n.extent.blocks ? change : change * last);
    }
  });
}

// `dbeta` is null without beta. Adds up in float over the positions of an image, in double over
// images.
void layer_norm_weights(const LayerNorm& n, const float* g, float* dgamma, float* dbeta) {
  const Lanes last = last_block_of(n);
  const std::ptrdiff_t positions = n.extent.positions();
  for (std::ptrdiff_t b = 0; b < n.extent.blocks; ++b) {
    double gamma[kLanes] = {}, beta[kLanes] = {};
    for (std::ptrdiff_t image = 0; image < n.extent.images; ++image) {
      const std::ptrdiff_t start = image * n.extent.blocks * positions * kLanes;
      Lanes moment{}, sum{};
      for (std::ptrdiff_t p = 0; p < positions; ++p) {
        const std::ptrdiff_t first = start + p * kLanes, at = image * positions + p;
        const Lanes gradient = load(g + first + b * positions * kLanes);
        moment += gradient * distance(n, first, b, n.mean[at], last) * n.inverse[at];
        sum += gradient;
      }
      for (std::ptrdiff_t c = 0; c < kLanes; ++c) {
        gamma[c] += static_cast<double>(moment[c]);
        beta[c] += static_cast<double>(sum[c]);
      }
    }
    for (std::ptrdiff_t c = 0; c < kLanes; ++c) {
      dgamma[b * kLanes + c] = static_cast<float>(gamma[c]);
      if (dbeta != nullptr) dbeta[b * kLanes + c] = static_cast<float>(beta[c]);
    }
  }
}

}  // namespace
}  // namespace detol::inline trainer::cpu

#pragma once

// Probabilities from the outputs of one image, in double.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace detol::inline trainer {

inline double sigmoid(double logit) {
  return 1 / (1 + std::exp(-logit));
}

// REQUIRES: at least one logit.
inline std::vector<double> softmax(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  std::vector<double> shares;
  double sum = 0;
  for (const float logit : logits) sum += shares.emplace_back(std::exp(logit - largest));
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace detol::inline trainer

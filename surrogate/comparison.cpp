// The probability is the Mann-Whitney statistic U / (m n). Example: losses 1 2 against 2 3 win
// 3.5 of 4 pairs, 0.875. The interval inverts a score test (Newcombe, 2006, "Confidence intervals
// for an effect size measure based on the Mann-Whitney statistic. Part 2", Statistics in Medicine
// 25, method 5): it has all p with |p - estimate| <= z sqrt(V(p)), where
//
//   V(p) = p (1 - p) (1 + c (1 - p) / (2 - p) + c p / (1 + p)) / (m n)     c = (m + n) / 2 - 1
//
// so that it has a width even where every pair is won. It assumes independent trials; those of a
// search that learns are alike for a while. The variance of the statistic is that of the mean
// placements (the share of the other run that a trial beats), and a mean of n numbers with
// autocorrelations r_k has the variance of n / (1 + 2 (r_1 + r_2 + ...)) independent ones. These
// counts are the m and n of V; the sum ends before the first r_k that is not positive.
#include "surrogate/comparison.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace detol::inline surrogate {
namespace {

constexpr std::size_t kMostLags = 1000;
constexpr int kBisections = 60;

// Returns the share of the others that each loss beats; equal ones count half.
std::vector<double> placements(std::span<const double> losses, std::span<const double> others) {
  std::vector<double> sorted(others.begin(), others.end());
  std::ranges::sort(sorted);
  std::vector<double> shares;
  for (const double loss : losses) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), loss);
    const auto beaten = static_cast<double>(sorted.end() - last);
    shares.push_back((beaten + static_cast<double>(last - first) / 2) /
                     static_cast<double>(sorted.size()));
  }
  return shares;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns how many independent values have a mean of the same variance; at least 1.
double independent_count(std::span<const double> values) {
  const double n = static_cast<double>(values.size()), mean = mean_of(values);
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i)
      sum += (values[i] - mean) * (values[i - lag] - mean);
    return sum;
  };
  const double variance = covariance(0);
  if (variance <= 1e-12 * n) return n;
  double correlations = 0;
  for (std::size_t lag = 1; lag < std::min(values.size(), kMostLags); ++lag) {
    const double correlation = covariance(lag) / variance;
    if (correlation <= 0) break;
    correlations += correlation;
  }
  return std::max(1.0, n / (1 + 2 * correlations));
}

// Returns z such that a standard normal number is within -z and z with this probability.
double normal_bound(double probability) {
  double low = 0, high = 40;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (std::erf(middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return high;
}

// Returns the smallest p of the interval; the largest is 1 less the smallest of 1 - estimate.
double lower_bound_of(double estimate, double m, double n, double z) {
  double low = 0, high = estimate;
  for (int i = 0; i < kBisections; ++i) {
    const double p = (low + high) / 2, c = (m + n) / 2 - 1;
    const double variance = p * (1 - p) * (1 + c * (1 - p) / (2 - p) + c * p / (1 + p)) / (m * n);
    (estimate - p > z * std::sqrt(variance) ? low : high) = p;
  }
  return low;
}

}  // namespace

Superiority superiority(std::span<const double> losses, std::span<const double> others,
                        double confidence) {
  assert(!losses.empty() && !others.empty() && confidence > 0 && confidence < 1);
  const std::vector<double> wins = placements(losses, others);
  const double m = independent_count(wins);
  const double n = independent_count(placements(others, losses));
  const double z = normal_bound(confidence), estimate = mean_of(wins);
  return {.probability = estimate,
          .low = lower_bound_of(estimate, m, n, z),
          .high = 1 - lower_bound_of(1 - estimate, m, n, z)};
}

Progress progress_of(std::span<const double> losses, std::span<const std::size_t> counts) {
  const auto best = std::ranges::min_element(losses);
  Progress progress{.best = *best,
                    .trials_to_best = static_cast<std::size_t>(best - losses.begin()) + 1,
                    .best_at = {}};
  for (const std::size_t count : counts) {
    assert(count >= 1 && count <= losses.size());
    progress.best_at.push_back(std::ranges::min(losses.first(count)));
  }
  return progress;
}

}  // namespace detol::inline surrogate

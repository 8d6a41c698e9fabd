#include "trainer/confidence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/rng.h"

namespace detol::inline trainer {
namespace {

constexpr double kQuantile = 1.959963984540054;      // of the normal distribution, at 97.5 %
constexpr std::uint64_t kSeed = 0x626f6f7473747261;  // "bootstra"

// Returns a quantile of numbers in ascending order.
double quantile(std::span<const double> ordered, double share) {
  const double at = share * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, ordered.size() - 1);
  const double part = at - static_cast<double>(below);
  return part == 0 ? ordered[below] : ordered[below] * (1 - part) + ordered[above] * part;
}

}  // namespace

ConfidenceInterval wilson_interval(double share, std::int64_t count) {
  const auto n = static_cast<double>(count);
  constexpr double kSquare = kQuantile * kQuantile;
  const double centre = share + kSquare / (2 * n);
  const double half = kQuantile * std::sqrt(share * (1 - share) / n + kSquare / (4 * n * n));
  const double scale = 1 + kSquare / n;
  // Exactly 0 and 1 where the share is, which rounding would miss.
  return {std::min(share, (centre - half) / scale), std::max(share, (centre + half) / scale)};
}

ConfidenceInterval percentile_interval(std::vector<double> of_resamples) {
  std::erase_if(of_resamples, [](double value) { return std::isnan(value); });
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (of_resamples.empty()) return {kNone, kNone};
  std::ranges::sort(of_resamples);
  return {quantile(of_resamples, 0.025), quantile(of_resamples, 0.975)};
}

void draw_resample(std::uint64_t number, std::span<std::uint16_t> times) {
  std::ranges::fill(times, std::uint16_t{0});
  Rng rng = Rng(kSeed).split(number);
  for (std::size_t i = 0; i < times.size(); ++i) ++times[rng.below(times.size())];
}

std::uint64_t resamples_for(std::int64_t cells) {
  constexpr double kMost = 2000, kLeast = 200, kWork = 2e7;
  return static_cast<std::uint64_t>(std::clamp(kWork / static_cast<double>(cells), kLeast, kMost));
}

}  // namespace detol::inline trainer

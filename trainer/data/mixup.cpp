#include "trainer/data/mixup.h"

#include <cassert>
#include <cmath>

namespace detol::inline trainer {
namespace {

// Returns the logarithm of a draw from Gamma(alpha, 1), as the draw itself underflows for small
// alpha. Marsaglia and Tsang, 2000, "A simple method for generating gamma variables", ACM
// Transactions on Mathematical Software 26: a draw from Gamma(alpha + 1) times U^(1/alpha), U
// uniform.
double log_gamma_draw(Rng& rng, double alpha) {
  const double d = alpha + 1 - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  const double brought_down = std::log(1 - rng.uniform()) / alpha;
  while (true) {
    const double x = rng.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - rng.uniform()) < x * x / 2 + d * (1 - v + std::log(v)))
      return std::log(d * v) + brought_down;
  }
}

}  // namespace

// Draws the share from Beta(alpha, alpha): the share of one of two Gamma(alpha) draws in their sum.
Mix draw_mix(Rng rng, double alpha, std::int64_t batch) {
  assert(alpha > 0 && batch > 0);
  const auto partner = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(batch)));
  const double one = log_gamma_draw(rng, alpha), other = log_gamma_draw(rng, alpha);
  return {partner, static_cast<float>(1 / (1 + std::exp(other - one)))};
}

void blend(std::span<float> numbers, std::span<const float> partner, float share) {
  assert(numbers.size() == partner.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = (1 - share) * numbers[i] + share * partner[i];
}

}  // namespace detol::inline trainer

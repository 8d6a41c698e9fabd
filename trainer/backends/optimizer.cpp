#include "trainer/backends/optimizer.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace detol::inline trainer {
namespace {

// Keeps several independent sums, so that no addition waits for the one before.
template <typename Real>
double squares(std::span<const Real> values) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  const std::size_t whole = values.size() / kSums * kSums;
  for (std::size_t i = 0; i < whole; i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) {
      const auto value = static_cast<double>(values[i + k]);
      sums[k] += value * value;
    }
  }
  double sum = 0;
  for (const double one : sums) sum += one;
  for (const Real value : values.subspan(whole)) {
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return sum;
}

}  // namespace

double clip_factor(const Recipe& recipe, double norm) {
  if (recipe.clip_norm <= 0) return 1;
  const double factor = recipe.clip_norm / (norm + 1e-6);
  return factor < 1 ? factor : 1;
}

double lars_rate(const Recipe& recipe, double lr, double weight_norm, double gradient_norm) {
  const double pull = gradient_norm + recipe.weight_decay * weight_norm;
  if (weight_norm == 0 || gradient_norm == 0) return lr;
  return lr * recipe.trust * weight_norm / pull;
}

double average_decay(const Recipe& recipe, std::int64_t step) {
  const auto steps = static_cast<double>(step);
  return std::min(recipe.ema, (1 + steps) / (10 + steps));
}

double sum_of_squares(std::span<const float> values) {
  return squares(values);
}

double sum_of_squares(std::span<const double> values) {
  return squares(values);
}

}  // namespace detol::inline trainer

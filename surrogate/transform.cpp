// Makes outcomes look normal to a Gaussian process. Example: losses 0.1, 0.2, 0.4 and a diverged
// 1e30 become -1.3, -0.5, 0.9, 0.9: the last is no worse than a bad one, and the ratio counts more
// than the difference.
//
//   v = min(outcome, highest)               winsorised on the bad side alone
//   x = (v - centre) / scale                mean 0, variance 1; or least 0, median 1
//   f = ((1 + x)^lambda - 1) / lambda             where x >= 0, log(1 + x) for lambda = 0
//     = -((1 - x)^(2 - lambda) - 1) / (2 - lambda)  where x < 0, -log(1 - x) for lambda = 2
//   y = (f - mean) / deviation              mean 0, variance 1 again
//
// Outliers are values further above the ninth decile than twice the distance of the first and
// ninth. Quartiles are too narrow: late in a search most outcomes are near the best, and all
// outcomes of the rest of the space would become one plateau.
#include "surrogate/transform.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace detol::inline surrogate {
namespace {

constexpr double kLargest = 1e300;         // keeps differences of outcomes finite
constexpr double kSmallest = 1e-280;       // keeps quotients finite
constexpr double kFar = 100;               // deviations, beyond which only the logarithm counts
constexpr std::size_t kLeastForPower = 5;  // outcomes; fewer do not determine lambda

// Beyond these an outcome better than all before would be mapped too far from them.
constexpr double kLeastLambda = -2, kGreatestLambda = 4;

struct Moments {
  double mean = 0, deviation = 1;
};

// Computes in units of the largest value, whose square may overflow. Returns deviation 1 where
// there is none.
Moments moments_of(std::span<const double> values) {
  double unit = 0;
  for (double value : values) unit = std::max(unit, std::abs(value));
  if (unit == 0) return {};
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (double value : values) sum += value / unit;
  for (double value : values) squares += (value / unit - sum / n) * (value / unit - sum / n);
  const bool all_equal = std::ranges::all_of(values, [&](double v) { return v == values[0]; });
  if (all_equal) return {.mean = values[0]};
  const double deviation = unit * std::sqrt(squares / n);
  return {.mean = unit * (sum / n), .deviation = deviation > kSmallest ? deviation : 1};
}

double yeo_johnson(double x, double lambda) {
  if (x < 0) return -yeo_johnson(-x, 2 - lambda);
  return lambda == 0 ? std::log1p(x) : std::expm1(lambda * std::log1p(x)) / lambda;
}

// Returns the x that yeo_johnson() takes to y; infinite if y is beyond all of its values.
double inverse_yeo_johnson(double y, double lambda) {
  if (y < 0) return -inverse_yeo_johnson(-y, 2 - lambda);
  if (lambda == 0) return std::expm1(y);
  if (lambda * y <= -1) return std::numeric_limits<double>::infinity();
  return std::expm1(std::log1p(lambda * y) / lambda);
}

// Returns the logarithm of the normal likelihood with the mean and variance of greatest likelihood:
// Yeo and Johnson, equation 3.1.
double likelihood(std::span<const double> values, double lambda, std::vector<double>& transformed) {
  double jacobian = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    transformed[i] = yeo_johnson(values[i], lambda);
    jacobian += std::copysign(std::log1p(std::abs(values[i])), values[i]);
  }
  const double n = static_cast<double>(values.size());
  return (lambda - 1) * jacobian - n * std::log(moments_of(transformed).deviation);
}

// Maximises the likelihood, which has one maximum, by golden section.
double likeliest_lambda(std::span<const double> values) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  std::vector<double> scratch(values.size());
  double low = kLeastLambda, high = kGreatestLambda;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = likelihood(values, left, scratch), at_right = likelihood(values, right, scratch);
  while (high - low > 1e-3) {
    if (at_left > at_right) {
      high = std::exchange(right, left);
      left = high - golden * (high - low);
      at_right = std::exchange(at_left, likelihood(values, left, scratch));
    } else {
      low = std::exchange(left, right);
      right = low + golden * (high - low);
      at_left = std::exchange(at_right, likelihood(values, right, scratch));
    }
  }
  return (low + high) / 2;
}

// Returns the worst value that is no outlier. Deciles of few values are rounded down, so that the
// worst of three is judged by the other two. If the deciles are equal, no value is an outlier.
double highest_of(std::span<const double> sorted) {
  const std::size_t last = sorted.size() - 1;
  const double first_decile = sorted[last / 10], ninth_decile = sorted[last * 9 / 10];
  const double spread = ninth_decile - first_decile;
  return spread > 0 ? std::min(sorted[last], ninth_decile + 2 * spread) : sorted[last];
}

std::vector<double> sorted_finite(std::span<const double> outcomes) {
  std::vector<double> values;
  for (double outcome : outcomes)
    if (std::isfinite(outcome)) values.push_back(std::clamp(outcome, -kLargest, kLargest));
  std::ranges::sort(values);
  return values;
}

}  // namespace

OutcomeTransform OutcomeTransform::fitted(std::span<const double> outcomes, Origin origin,
                                          Power power) {
  std::vector<double> values = sorted_finite(outcomes);
  OutcomeTransform transform;
  if (values.empty()) return transform;
  transform.highest_ = highest_of(values);
  for (double& value : values) value = std::min(value, transform.highest_);
  const Moments before = moments_of(values);
  transform.centre_ = before.mean;
  transform.scale_ = before.deviation;
  const double half = values[(values.size() - 1) / 2] - values.front();
  if (origin == Origin::kLeast && half > kSmallest) {
    transform.centre_ = values.front();
    transform.scale_ = half;
  }
  for (double& value : values) value = transform.standardised(value);
  if (values.size() >= kLeastForPower && values.front() < values.back())
    transform.lambda_ = likeliest_lambda(values);
  if (power == Power::kHalf) transform.lambda_ = (transform.lambda_ + 1) / 2;
  for (double& value : values) value = yeo_johnson(value, transform.lambda_);
  const Moments after = moments_of(values);
  transform.mean_ = after.mean;
  transform.deviation_ = after.deviation;
  return transform;
}

OutcomeTransform OutcomeTransform::fitted_to_bound(std::span<const double> outcomes) {
  std::vector<double> values = sorted_finite(outcomes);
  OutcomeTransform transform;
  if (values.empty()) return transform;
  const double range = highest_of(values) - values[(values.size() - 1) / 10];
  transform.highest_ = std::max(highest_of(values), range > 0 ? range : 1);
  for (double& value : values) value = std::min(value, transform.highest_);
  const Moments moments = moments_of(values);
  transform.centre_ = moments.mean;
  transform.scale_ = moments.deviation;
  return transform;
}

double OutcomeTransform::log_slopes(std::span<const double> outcomes) const {
  if (scale_ == 0) return 0;
  double sum = 0;
  for (double outcome : outcomes) {
    if (!(outcome > -kLargest && outcome < highest_)) continue;
    const double x = standardised(outcome);
    sum += (lambda_ - 1) * std::copysign(std::log1p(std::abs(x)), x) - std::log(scale_) -
           std::log(deviation_);
    if (x < -kFar) sum += x / kFar + 1;  // the logarithm of kFar over the deviations
  }
  return sum;
}

double OutcomeTransform::standardised(double outcome) const {
  const double bounded = outcome <= highest_ ? std::max(outcome, -kLargest) : highest_;  // NaN, too
  const double x = std::max((bounded - centre_) / scale_, -kLargest);
  return x < -kFar ? -kFar * (1 + std::log(-x / kFar)) : x;
}

double OutcomeTransform::operator()(double outcome) const {
  if (scale_ == 0) return std::isfinite(outcome) ? outcome : 0;
  return (yeo_johnson(standardised(outcome), lambda_) - mean_) / deviation_;
}

double OutcomeTransform::inverse(double y) const {
  if (scale_ == 0) return y;
  double x = inverse_yeo_johnson(y * deviation_ + mean_, lambda_);
  if (std::isinf(x)) x = std::copysign(kFar, x);
  if (x < -kFar) x = -kFar * std::exp(-x / kFar - 1);
  return std::clamp(centre_ + scale_ * x, -kLargest, highest_);
}

std::vector<double> OutcomeTransform::to_numbers() const {
  return {highest_, centre_, scale_, lambda_, mean_, deviation_};
}

OutcomeTransform OutcomeTransform::from_numbers(std::span<const double> numbers) {
  assert(numbers.size() == kNumbers);
  OutcomeTransform transform;
  transform.highest_ = numbers[0];
  transform.centre_ = numbers[1];
  transform.scale_ = numbers[2];
  transform.lambda_ = numbers[3];
  transform.mean_ = numbers[4];
  transform.deviation_ = numbers[5];
  return transform;
}

}  // namespace detol::inline surrogate

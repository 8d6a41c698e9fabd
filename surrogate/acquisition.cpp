#include "surrogate/acquisition.h"

#include <cmath>
#include <numbers>

namespace detol::inline surrogate {
namespace {

const double kLogSqrtTwoPi = 0.5 * std::log(2 * std::numbers::pi);

double log_phi(double u) {
  return -0.5 * u * u - kLogSqrtTwoPi;
}

double normal_cdf(double u) {
  return 0.5 * std::erfc(-u / std::numbers::sqrt2);
}

// Returns exp(x^2) erfc(x) for x > 0, by the continued fraction where the product would underflow.
double erfcx(double x) {
  if (x < 5) return std::exp(x * x) * std::erfc(x);
  double tail = 0;
  for (int k = 40; k > 0; --k) tail = 0.5 * k / (x + tail);
  return 1 / (std::sqrt(std::numbers::pi) * (x + tail));
}

// Returns Phi(-t) / phi(t), Mills' ratio, for t > 0.
double mills_ratio(double t) {
  return std::sqrt(std::numbers::pi / 2) * erfcx(t / std::numbers::sqrt2);
}

// LogH: log h(u), with h of acquisition.h, and its slope, d/du log h = Phi / h.
struct LogH {
  double value, slope;
};

LogH log_h(double u) {
  if (u > -1) {
    const double cdf = normal_cdf(u);
    const double h = std::exp(log_phi(u)) + u * cdf;
    return {std::log(h), cdf / h};
  }
  const double t = -u;
  if (t > 1e4) return {log_phi(u) - 2 * std::log(t), t + 2 / t};
  const double mills = mills_ratio(t);
  const double rest = t < 50 ? 1 - t * mills : 1 / (t * t) * (1 - 3 / (t * t));
  return {log_phi(u) + std::log(rest), mills / rest};
}

}  // namespace

AcquisitionValue log_expected_improvement(const Prediction& at, double best) {
  const double s = std::sqrt(at.variance);
  const double u = (best - at.mean) / s;
  const LogH h = log_h(u);
  // d/ds (log s + log h) = (1 - u h'/h) / s, and d s / d variance = 1 / (2 s).
  return {.value = std::log(s) + h.value,
          .by_mean = -h.slope / s,
          .by_variance = (1 - u * h.slope) / (2 * at.variance)};
}

AcquisitionValue confidence_bound(const Prediction& at, double beta) {
  const double s = std::sqrt(at.variance);
  return {.value = beta * s - at.mean, .by_mean = -1, .by_variance = beta / (2 * s)};
}

AcquisitionValue log_probability_below(const Prediction& at, double bound) {
  const double s = std::sqrt(at.variance);
  const double u = (bound - at.mean) / s;
  const double log_cdf = u > -1 ? std::log(normal_cdf(u)) : log_phi(u) + std::log(mills_ratio(-u));
  const double slope = std::exp(log_phi(u) - log_cdf);  // d/du log Phi
  return {.value = log_cdf, .by_mean = -slope / s, .by_variance = -u * slope / (2 * at.variance)};
}

double probability_below(const Prediction& at, double bound) {
  if (at.variance <= 0) return at.mean < bound ? 1 : 0;
  return normal_cdf((bound - at.mean) / std::sqrt(at.variance));
}

double log_improvement_per_work(double log_improvement, const Prediction& log_work,
                                double exponent) {
  return log_improvement - exponent * log_work.mean;
}

}  // namespace detol::inline surrogate

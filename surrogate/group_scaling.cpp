#include "surrogate/group_scaling.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

namespace detol::inline surrogate {
namespace {

using Coefficients = Eigen::Vector4d;  // of c, a, d, s

constexpr double kTimeNoise = 0.3;  // standard deviation of log T: networks reach different speeds
constexpr double kOf95Percent = 1.96;  // deviations
const Coefficients kUsualCoefficients(0, 1, 0.05, 0.9);
// Groups that crowd too few cores are slower than one rank (s < 0), so that a few times of two
// sizes must outweigh what is usual.
const Coefficients kTheirDeviations(100, 0.3, 0.05, 0.5);

}  // namespace

// The posterior mean of Bayesian linear regression: C. M. Bishop, Pattern Recognition and Machine
// Learning (2006), equations 3.50 and 3.51. Work and batch are centred, so that the flat prior of c
// leaves the exponents alone.
GroupScaling::GroupScaling(std::span<const MeasuredTime> times) {
  for (const MeasuredTime& time : times) {
    ++sizes_[time.ranks];
    log_work_ += std::log(time.work) / static_cast<double>(times.size());
    log_batch_ += std::log(time.batch) / static_cast<double>(times.size());
  }
  Eigen::Matrix4d precision = kTheirDeviations.array().square().inverse().matrix().asDiagonal();
  Coefficients weighted = precision * kUsualCoefficients;
  for (const MeasuredTime& time : times) {
    const Coefficients features(1, std::log(time.work) - log_work_,
                                log_batch_ - std::log(time.batch), -std::log(time.ranks));
    precision += features * features.transpose() / (kTimeNoise * kTimeNoise);
    weighted += features * std::log(time.wall_s) / (kTimeNoise * kTimeNoise);
  }
  const Eigen::LLT<Eigen::Matrix4d> factor(precision);
  const Coefficients mean = factor.solve(weighted);
  const Eigen::Matrix4d covariance = factor.solve(Eigen::Matrix4d::Identity());
  log_c_ = mean[0];
  work_exponent_ = mean[1];
  strong_ = {mean[3], std::sqrt(covariance(3, 3))};
  // With g times the batch, as many images take g^d times less time on top.
  weak_ = {mean[3] + mean[2],
           std::sqrt(covariance(3, 3) + covariance(2, 2) + 2 * covariance(2, 3))};
}

double GroupScaling::wall_s(double work, int ranks) const {
  return std::exp(log_c_ + work_exponent_ * (std::log(work) - log_work_)) / speed(ranks);
}

// A group is never better than perfect.
Efficiency GroupScaling::efficiency(int ranks, Exponent exponent) {
  const auto at = [&](double deviations) {
    const double speed = exponent.mean + deviations * exponent.deviation;
    return std::pow(ranks, std::min(1.0, speed) - 1);
  };
  return {at(0), at(-kOf95Percent), at(kOf95Percent)};
}

Efficiency GroupScaling::strong_efficiency(int ranks) const {
  return efficiency(ranks, strong_);
}

Efficiency GroupScaling::weak_efficiency(int ranks) const {
  return efficiency(ranks, weak_);
}

}  // namespace detol::inline surrogate

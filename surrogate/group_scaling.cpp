#include "surrogate/group_scaling.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

namespace detol::inline surrogate {
namespace {

using Coefficients = Eigen::Vector4d;  // of c, a, d, s

constexpr double kTimeNoise = 0.3;  // standard deviation of log T: networks reach different speeds
const Coefficients kUsualCoefficients(0, 1, 0.05, 0.9);
const Coefficients kTheirDeviations(100, 0.3, 0.05, 0.15);

}  // namespace

// The posterior mean of Bayesian linear regression: C. M. Bishop, Pattern Recognition and Machine
// Learning (2006), equations 3.50 and 3.51. Work and batch are centred, so that the flat prior of c
// leaves the exponents alone.
GroupScaling::GroupScaling(std::span<const MeasuredTime> times) {
  for (const MeasuredTime& time : times) {
    sizes_.insert(time.ranks);
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
  const Coefficients mean = precision.llt().solve(weighted);
  log_c_ = mean[0];
  work_exponent_ = mean[1];
  batch_exponent_ = mean[2];
  rank_exponent_ = std::min(1.0, mean[3]);
}

double GroupScaling::wall_s(double work, int ranks) const {
  return std::exp(log_c_ + work_exponent_ * (std::log(work) - log_work_) -
                  rank_exponent_ * std::log(ranks));
}

double GroupScaling::strong_efficiency(int ranks) const {
  return std::pow(ranks, rank_exponent_ - 1);
}

// With g times the batch, as many images take g^d times less time on top.
double GroupScaling::weak_efficiency(int ranks) const {
  return std::min(1.0, std::pow(ranks, rank_exponent_ + batch_exponent_ - 1));
}

}  // namespace detol::inline surrogate

// The prior of numbers, a Matern kernel, is the mean over frequencies w of cos(w (x - x')), where w
// is a multivariate t variable with 5 degrees of freedom, divided by the lengths (Rasmussen and
// Williams, 2006, section 4.2.1: the spectral density of Matern_nu is that of t with 2 nu). So
//
//   g(x) = sqrt(a / F) sum_i (u_i cos w_i x + v_i sin w_i x)      u, v ~ N(0, 1)
//        = sqrt(a / F) sum_i r_i cos(w_i x - p_i)                 (u, v) = r (cos p, sin p)
//
// where a is the variance and F the number of waves. Their cosines are most of the work: a
// polynomial of several phases at once takes a tenth of the time of std::cos.

#include "surrogate/pathwise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

#include "surrogate/eigen_impl.h"

namespace detol::inline surrogate {
namespace {

constexpr double kFreedom = 5;  // 2 nu

using Column = Eigen::Map<const Eigen::VectorXd>;

Column column(std::span<const double> values) {
  return {values.data(), to_index(values.size())};
}

// Draws from chi-squared with kFreedom degrees: the sum of twice two exponential variables and the
// square of a normal one.
double chi_squared(Rng& rng) {
  const double normal = rng.normal();
  return normal * normal - 2 * std::log((1 - rng.uniform()) * (1 - rng.uniform()));
}

// kCosine[k] = (-1)^k / (2 k)!, as many as |x| <= pi needs.
constexpr std::array<double, 15> kCosine = [] {
  std::array<double, 15> series{1};
  for (std::size_t k = 1; k < series.size(); ++k)
    series[k] = -series[k - 1] / static_cast<double>(2 * k * (2 * k - 1));
  return series;
}();

// Replaces phases by their cosines, to 1e-14 or the rounding of the phase.
void to_cosines(Eigen::ArrayXd& phases) {
  for (double& phase : phases) {
    const double turns = phase / (2 * std::numbers::pi);
    const double x = 2 * std::numbers::pi * (turns - std::nearbyint(turns)), square = x * x;
    double sum = kCosine.back();
    for (std::size_t k = kCosine.size() - 1; k-- > 0;) sum = sum * square + kCosine[k];
    phase = sum;
  }
}

// Returns k(X, C), row-major n x m.
std::vector<double> cross(const LazyGp& process, const Points& candidates) {
  const std::size_t n = process.rows(), m = candidates.size();
  std::vector<double> k(n * m), values(n);
  for (std::size_t j = 0; j < m; ++j) {  // a few long rows cost less than many short ones
    process.kernel().row(candidates[j], process.points(), values);
    for (std::size_t i = 0; i < n; ++i) k[i * m + j] = values[i];
  }
  return k;
}

}  // namespace

bool has_pathwise_samples(const LazyGp& process) {
  const KernelParameters& parameters = process.kernel().parameters();
  return parameters.penalties.empty() && parameters.graphs == 0 && parameters.both == 0;
}

PathwiseSample::PathwiseSample(const LazyGp& process, Rng rng) : process_(&process) {
  assert(has_pathwise_samples(process));
  const Kernel& kernel = process.kernel();
  const double share = std::sqrt(kernel.variance() / kWaves);
  const std::size_t columns = kernel.metric().columns();
  frequencies_.resize(columns * kWaves);
  for (std::size_t i = 0; i < kWaves; ++i) {
    const double stretch = std::sqrt(kFreedom / chi_squared(rng));
    std::vector<double> normals(columns);
    for (double& normal : normals) normal = rng.normal();
    const std::vector<double> wave = kernel.metric().wave_vector(std::move(normals));
    for (std::size_t column = 0; column < columns; ++column)
      frequencies_[column * kWaves + i] = stretch * wave[column];
    const double u = rng.normal(), v = rng.normal();
    amplitudes_.push_back(share * std::hypot(u, v));
    starts_.push_back(-std::atan2(v, u));
  }
  weights_ = prior(process.points());
  const double mean = process.mean(), deviation = std::sqrt(kernel.parameters().noise);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double seen = weights_[i] + deviation * rng.normal();
    weights_[i] = process.outcomes()[i] - mean - seen;
  }
  process.factor().solve(weights_);
  process.factor().solve_transposed(weights_);
}

std::vector<double> PathwiseSample::prior(const Points& points) const {
  const Eigen::Map<const Eigen::MatrixXd> frequencies(frequencies_.data(), to_index(kWaves),
                                                      to_index(points.number_columns()));
  std::vector<double> sums;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point x = points[i];
    Eigen::ArrayXd waves = frequencies * column(x.numbers) + column(starts_);
    to_cosines(waves);
    sums.push_back(column(amplitudes_).dot(waves.matrix()));
  }
  return sums;
}

std::vector<double> PathwiseSample::values(const Points& points) const {
  std::vector<double> values = prior(points);
  std::vector<double> k(process_->rows());
  const double mean = process_->mean();
  for (std::size_t i = 0; i < values.size(); ++i) {
    process_->kernel().row(points[i], process_->points(), k);
    values[i] += mean + column(k).dot(column(weights_));
  }
  return values;
}

JointPosterior::JointPosterior(const LazyGp& process, const Points& candidates) {
  const std::size_t n = process.rows(), m = candidates.size();
  std::vector<double> v = cross(process, candidates);
  const Eigen::Map<const RowMajor> half(v.data(), to_index(n), to_index(m));
  mean_.assign(m, process.mean());
  Eigen::Map<Eigen::VectorXd>(mean_.data(), to_index(m)) +=
      half.transpose() * column(process.weights());
  process.factor().solve(v, m);
  const std::vector<double> prior = process.kernel().lower_gram(candidates);
  RowMajor covariance = Eigen::Map<const RowMajor>(prior.data(), to_index(m), to_index(m));
  covariance.selfadjointView<Eigen::Lower>().rankUpdate(half.transpose(), -1);
  // Pivoting puts candidates that are known or alike, whose pivots are rounding errors, last.
  const Eigen::LDLT<RowMajor> factor(covariance);
  const Eigen::VectorXd deviations = factor.vectorD().cwiseMax(0).cwiseSqrt();
  root_.resize(m * m);
  Eigen::Map<RowMajor> root(root_.data(), to_index(m), to_index(m));
  root = factor.matrixL();
  root = factor.transpositionsP().transpose() * (root * deviations.asDiagonal());
}

std::vector<double> JointPosterior::sample(Rng rng) const {
  const std::size_t m = mean_.size();
  Eigen::VectorXd normals(to_index(m));
  for (double& normal : normals) normal = rng.normal();
  std::vector<double> values = mean_;
  Eigen::Map<Eigen::VectorXd>(values.data(), to_index(m)) +=
      Eigen::Map<const RowMajor>(root_.data(), to_index(m), to_index(m)) * normals;
  return values;
}

}  // namespace detol::inline surrogate

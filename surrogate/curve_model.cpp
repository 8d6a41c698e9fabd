#include "surrogate/curve_model.h"

#include <nlopt.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <memory>

#include "surrogate/arithmetic_impl.h"
#include "surrogate/cholesky.h"

namespace detol::inline surrogate {
namespace {

// Sums: sums over the curves of one length.
struct Sums {
  std::size_t curves = 0;
  std::vector<double> sum, products;  // lower triangle, row-major
};

std::vector<Sums> sums_by_length(std::size_t length,
                                 const std::vector<std::vector<double>>& curves) {
  std::vector<Sums> sums(length + 1);
  for (const std::vector<double>& curve : curves) {
    const std::size_t n = curve.size();
    assert(n <= length);
    Sums& of = sums[n];
    of.sum.resize(n);
    of.products.resize(n * n);
    ++of.curves;
    for (std::size_t i = 0; i < n; ++i) {
      of.sum[i] += curve[i];
      for (std::size_t j = 0; j <= i; ++j) of.products[i * n + j] += curve[i] * curve[j];
    }
  }
  return sums;
}

// Prior: the kernel's covariance of all epochs, and its factor.
struct Prior {
  explicit Prior(const CurveKernel& kernel, std::span<const double> epochs)
      : size(epochs.size()), matrix(size * size) {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j <= i; ++j)
        matrix[i * size + j] = kernel.strength * kernel(epochs[i], epochs[j]);
    }
    [[maybe_unused]] const bool is_definite = factor.factorise(matrix, size);
    assert(is_definite);  // the noise has a floor
  }

  std::size_t size;
  std::vector<double> matrix;  // strength K
  Cholesky factor;
};

// Returns the factor of A_j, which is definite as the noise has a floor and curve values are at
// most a hundred deviations.
Cholesky posterior_factor(const Prior& prior, const CurveScatter::Step& step, std::size_t j) {
  const std::size_t n = j + 1;
  std::vector<double> matrix(n * n);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t column = 0; column <= row; ++column)
      matrix[row * n + column] =
          prior.matrix[row * prior.size + column] + step.scatter[row * n + column];
  }
  Cholesky factor;
  [[maybe_unused]] const bool is_definite = factor.factorise(matrix, n);
  assert(is_definite);
  return factor;
}

double square(double x) {
  return x * x;
}

// CurveParameter: the normal prior of the logarithm of a parameter, and its bounds.
struct CurveParameter {
  double CurveKernel::*parameter;
  double centre, deviation, low, high;
};

const std::array kCurveParameters = {
    CurveParameter{&CurveKernel::level, std::log(0.5), 2, std::log(1e-6), std::log(1e4)},
    CurveParameter{&CurveKernel::decay, std::log(1.0), 2, std::log(1e-6), std::log(1e4)},
    CurveParameter{&CurveKernel::noise, std::log(0.01), 2.5, std::log(1e-5), std::log(1e2)},
    CurveParameter{&CurveKernel::scale, std::log(2.0), 1.5, std::log(0.05), std::log(1e3)},
    CurveParameter{&CurveKernel::shape, std::log(1.0), 0.7, std::log(0.1), std::log(10.0)},
    CurveParameter{&CurveKernel::strength, std::log(20.0), 1, std::log(3.0), std::log(1e3)},
};

CurveKernel kernel_at(const double* logarithms) {
  CurveKernel kernel;
  for (std::size_t i = 0; i < kCurveParameters.size(); ++i)
    kernel.*kCurveParameters[i].parameter = std::exp(logarithms[i]);
  return kernel;
}

double curve_log_posterior(unsigned, const double* x, double*, void* scatter) {
  double density =
      CurveModel(*static_cast<const CurveScatter*>(scatter), kernel_at(x)).log_evidence();
  for (std::size_t i = 0; i < kCurveParameters.size(); ++i)
    density -= 0.5 * square((x[i] - kCurveParameters[i].centre) / kCurveParameters[i].deviation);
  return density;
}

}  // namespace

double CurveKernel::operator()(double s, double t) const {
  const double value = level + decay * std::pow(scale / (s + t + scale), shape);
  return s == t ? value + noise : value;
}

CurveScatter::CurveScatter(std::span<const double> epochs,
                           const std::vector<std::vector<double>>& curves)
    : epochs_(epochs.begin(), epochs.end()), steps_(epochs.size()) {
  const std::size_t length = epochs_.size();
  const std::vector<Sums> groups = sums_by_length(length, curves);
  Sums total{.sum = std::vector<double>(length), .products = std::vector<double>(length * length)};
  for (std::size_t n = length; n > 0; --n) {
    const Sums& group = groups[n];
    total.curves += group.curves;
    for (std::size_t i = 0; i < group.sum.size(); ++i) {
      total.sum[i] += group.sum[i];
      for (std::size_t j = 0; j <= i; ++j)
        total.products[i * length + j] += group.products[i * n + j];
    }
    Step& step = steps_[n - 1];
    step.curves = total.curves;
    step.mean.resize(n);
    step.scatter.resize(n * n);
    if (total.curves == 0) continue;
    const auto count = static_cast<double>(total.curves);
    for (std::size_t i = 0; i < n; ++i) step.mean[i] = total.sum[i] / count;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j)
        step.scatter[i * n + j] =
            total.products[i * length + j] - count * step.mean[i] * step.mean[j];
    }
  }
}

CurveModel::CurveModel(const CurveScatter& scatter, const CurveKernel& kernel)
    : strength_(kernel.strength) {
  const Prior prior(kernel, scatter.epochs());
  double log_prior = 0;  // log determinant of the prior's epochs before j
  for (std::size_t j = 0; j < prior.size; ++j) {
    const CurveScatter::Step& of = scatter.step(j);
    Cholesky factor = posterior_factor(prior, of, j);
    const std::span<const double> row = factor.row(j);
    Step step{.slopes = {row.begin(), row.begin() + static_cast<std::ptrdiff_t>(j)}};
    const double prior_square = square(prior.factor.row(j)[j]), left_square = square(row[j]);
    factor.truncate(j);
    factor.solve_transposed(step.slopes);
    const double log_factor = factor.log_determinant();

    // There are n - 1 degrees of freedom, as the mean is estimated.
    const double freedom = of.curves > 1 ? static_cast<double>(of.curves - 1) : 0;
    const double a = kernel.strength / 2, a_after = a + freedom / 2;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody reads signgam
    const double gamma = std::lgamma(a), gamma_after = std::lgamma(a_after);
    if (freedom > 0)
      log_evidence_ += 0.5 * (log_prior - log_factor) + a * std::log(prior_square / 2) -
                       a_after * std::log(left_square / 2) + gamma_after - gamma;

    step.constant = of.mean[j] - dot(step.slopes, std::span(of.mean).first(j));
    step.variance = left_square / (kernel.strength + freedom - 2);
    step.curves = static_cast<double>(of.curves);
    steps_.push_back(std::move(step));
    log_prior += std::log(prior_square);
  }
}

// Adds the uncertainty of one regression: of its residual, its mean and its slopes, which are the
// more uncertain, the farther the curve is from the others. The variance of the residual is
// estimated, too, so it is that of Student's t with one degree of freedom less than curves.
void CurveModel::add_uncertainty(Forecast& forecast, double variance, double curves) const {
  const double unknown = curves > 3 ? (curves - 1) / (curves - 3) : kInfinity;
  forecast.variance += std::isinf(unknown) ? unknown : variance * unknown * (1 + 1 / curves);
  forecast.variance_by_surprise += variance / (strength_ + curves);
}

std::vector<CurveModel::Forecast> CurveModel::forecasts(std::size_t target) const {
  assert(target < steps_.size());
  std::vector<Forecast> forecasts(target + 1);
  Forecast now{.weights = std::vector<double>(target + 1)};
  now.weights[target] = 1;
  for (std::size_t j = target + 1; j-- > 0;) {
    const Step& step = steps_[j];
    const double weight = now.weights[j];
    now.weights.resize(j);
    for (std::size_t i = 0; i < j; ++i) now.weights[i] += weight * step.slopes[i];
    now.constant += weight * step.constant;
    add_uncertainty(now, square(weight) * step.variance, step.curves);
    forecasts[j] = now;
  }
  return forecasts;
}

double CurveModel::surprise(std::span<const double> values) const {
  double sum = 0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    const Step& step = steps_[j];
    const double expected = step.constant + dot(step.slopes, values.first(j));
    sum += square(values[j] - expected) / step.variance;
  }
  return sum;
}

Prediction CurveModel::predict(const Forecast& forecast, std::span<const double> values) const {
  constexpr double kFreedom = 4;
  const double squares = surprise(values);
  const double unlike = (kFreedom + squares) / (kFreedom + static_cast<double>(values.size()));
  return {.mean = forecast.constant + dot(forecast.weights, values),
          .variance = unlike * (forecast.variance + squares * forecast.variance_by_surprise)};
}

CurveKernel fit_curve_kernel(const CurveScatter& scatter, const CurveKernel& start) {
  constexpr unsigned kParameters = kCurveParameters.size();
  std::array<double, kParameters> x{}, low{}, high{};
  for (std::size_t i = 0; i < kParameters; ++i) {
    low[i] = kCurveParameters[i].low;
    high[i] = kCurveParameters[i].high;
    x[i] = std::clamp(std::log(start.*kCurveParameters[i].parameter), low[i], high[i]);
  }
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
      nlopt_create(NLOPT_LN_BOBYQA, kParameters), nlopt_destroy);
  nlopt_set_lower_bounds(optimizer.get(), low.data());
  nlopt_set_upper_bounds(optimizer.get(), high.data());
  nlopt_set_max_objective(optimizer.get(), curve_log_posterior,
                          const_cast<CurveScatter*>(&scatter));
  nlopt_set_initial_step1(optimizer.get(), 0.5);
  nlopt_set_maxeval(optimizer.get(), 150);
  nlopt_set_ftol_abs(optimizer.get(), 1e-3);
  double density = 0;
  (void)nlopt_optimize(optimizer.get(), x.data(), &density);  // a failure leaves the best so far
  return kernel_at(x.data());
}

}  // namespace detol::inline surrogate

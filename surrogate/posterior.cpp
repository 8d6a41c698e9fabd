#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include "surrogate/eigen_impl.h"
#include "surrogate/inverse_impl.h"
#include "surrogate/posterior_impl.h"

namespace detol::inline surrogate {
namespace {

using Eigen::Index;

// Sets out to `factor` where the category is another one, else to 0.
void where_other(const double* categories, double own, const double* factor, Index n, double* out) {
  for (Index i = 0; i < n; ++i) out[i] = categories[i] != own ? factor[i] : 0.0;
}

// Returns the lower triangles of the graph kernels of all depths.
std::array<Eigen::MatrixXd, GraphFeatures::kLevels> arch_matrices(const Points& points) {
  const Index n = to_index(points.size());
  std::array<Eigen::MatrixXd, GraphFeatures::kLevels> matrices;
  for (Eigen::MatrixXd& matrix : matrices) matrix.resize(n, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i) {
      const auto kernels = graph_kernels(*points.graphs()[static_cast<std::size_t>(i)],
                                         *points.graphs()[static_cast<std::size_t>(j)]);
      for (std::size_t depth = 0; depth < kernels.size(); ++depth)
        matrices[depth](i, j) = kernels[depth];
    }
  return matrices;
}

}  // namespace

PosteriorDensity::PosteriorDensity(const Features& features, const Points& points,
                                   std::span<const double> y)
    : list_(list_of(features)),
      length_of_(features.length_of().begin(), features.length_of().end()),
      sheared_(features.sheared().begin(), features.sheared().end()) {
  assert(y.size() == points.size() && !y.empty());
  const Index n = to_index(y.size());
  numbers_.resize(n, to_index(points.number_columns()));
  for (std::size_t k = 0; k < points.number_columns(); ++k)
    numbers_.col(to_index(k)) = Eigen::Map<const Eigen::ArrayXd>(points.numbers(k).data(), n);
  categories_.resize(n, to_index(points.category_columns()));
  for (std::size_t k = 0; k < points.category_columns(); ++k)
    categories_.col(to_index(k)) =
        Eigen::Map<const Eigen::ArrayXi>(points.categories(k).data(), n).cast<double>();
  if (list_.has_graph) arch_ = arch_matrices(points);
  y_ = Eigen::Map<const Eigen::VectorXd>(y.data(), n);
  for (Eigen::ArrayXXd* matrix : {&matern_, &slope_}) matrix->resize(n, n);
  matrix_.resize(n, n);
  for (Eigen::ArrayXd* column : {&squares_, &root_, &penalty_, &weights_, &inner_})
    column->resize(n);
}

double PosteriorDensity::operator()(std::span<const double> coordinates, int depth, Pooling pooling,
                                    std::span<double> gradient) {
  const KernelParameters now = from_coordinates(coordinates, depth, list_);
  std::ranges::fill(gradient, 0);
  fill(now);
  const double density = likelihood(now) + log_prior(now, list_, observations(), pooling, {});
  if (!std::isfinite(density)) return -std::numeric_limits<double>::infinity();
  if (gradient.empty()) return density;
  invert_from_factor(matrix_);
  add_gradient(now, gradient);
  log_prior(now, list_, observations(), pooling, gradient);
  return density;
}

void PosteriorDensity::fill(const KernelParameters& now) {
  scaled_ = numbers_;
  auto shear = now.shears.begin();
  for (std::size_t i = 1; i < sheared_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j, ++shear) {
      if (*shear != 0)
        scaled_.col(to_index(sheared_[i])) += *shear * numbers_.col(to_index(sheared_[j]));
    }
  }
  for (std::size_t k = 0; k < length_of_.size(); ++k)
    scaled_.col(to_index(k)) /= now.lengths[length_of_[k]];
  for (Index j = 0; j < y_.size(); ++j) fill_column(j, now);
  matrix_.diagonal().array() += now.noise;
}

// Fills column j from row j down. One exponential serves the Matern kernel and the categories.
void PosteriorDensity::fill_column(Index j, const KernelParameters& now) {
  const Index n = y_.size() - j;
  auto squares = squares_.head(n), root = root_.head(n), penalty = penalty_.head(n);
  squares.setZero();
  for (Index k = 0; k < scaled_.cols(); ++k)
    squares += (scaled_.col(k).tail(n) - scaled_(j, k)).square();
  penalty.setZero();
  for (Index k = 0; k < categories_.cols(); ++k) {
    inner_.head(n).setConstant(now.penalties[static_cast<std::size_t>(k)]);
    where_other(&categories_(j, k), categories_(j, k), inner_.data(), n, weights_.data());
    penalty += weights_.head(n);
  }
  root = (5 * squares).sqrt();
  auto matern = matern_.col(j).tail(n), slope = slope_.col(j).tail(n);
  penalty = (-root - penalty).exp();
  matern = (1 + root + (5.0 / 3) * squares) * penalty;
  slope = (5.0 / 3) * (1 + root) * penalty;
  auto column = matrix_.col(j).tail(n).array();
  if (!list_.has_graph) {
    column = now.numbers * matern;
    return;
  }
  const auto arch = arch_[static_cast<std::size_t>(now.depth)].col(j).tail(n).array();
  column = now.numbers * matern + now.graphs * arch + now.both * matern * arch;
}

// Returns the log likelihood, NaN if there is none; leaves L in matrix_, and alpha in alpha_.
double PosteriorDensity::likelihood(const KernelParameters& now) {
  if (!(now.noise > 0) || !std::isfinite(matrix_.diagonal().sum())) return std::nan("");
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(matrix_);
  if (factor.info() != Eigen::Success) return std::nan("");
  const auto lower = matrix_.triangularView<Eigen::Lower>();
  alpha_ = y_;
  lower.solveInPlace(alpha_);
  ones_.setOnes(y_.size());
  lower.solveInPlace(ones_);
  const double mean = ones_.dot(alpha_) / ones_.squaredNorm();
  alpha_ -= mean * ones_;
  const double n = static_cast<double>(y_.size());
  const double likelihood = -0.5 * alpha_.squaredNorm() - matrix_.diagonal().array().log().sum() -
                            0.5 * n * std::log(2 * std::numbers::pi);
  matrix_.transpose().triangularView<Eigen::Upper>().solveInPlace(alpha_);
  return likelihood;
}

// Adds the gradient of the likelihood: as W is symmetric, the sum over pairs below the diagonal,
// and half the trace. REQUIRES: matrix_ is K^-1.
void PosteriorDensity::add_gradient(const KernelParameters& now, std::span<double> gradient) {
  for (Index j = 0; j + 1 < y_.size(); ++j) add_column_gradient(j, now, gradient);
  if (has_shears(now)) add_shear_gradient(now, gradient);
  const double trace = 0.5 * (alpha_.squaredNorm() - matrix_.diagonal().sum());
  const std::size_t variance = list_.variance();
  gradient[variance] += now.numbers * trace;
  if (list_.has_graph) {
    gradient[variance + 1] += now.graphs * trace;
    gradient[variance + 2] += now.both * trace;
  }
  gradient[list_.noise()] += now.noise * trace;
}

// Adds rows below j. `inner` is the common factor of every derivative inside k_hp.
void PosteriorDensity::add_column_gradient(Index j, const KernelParameters& now,
                                           std::span<double> gradient) {
  const Index n = y_.size() - j - 1;
  auto weights = weights_.head(n), inner = inner_.head(n), scratch = root_.head(n);
  const auto matern = matern_.col(j).tail(n);
  weights = alpha_.tail(n).array() * alpha_[j] - matrix_.col(j).tail(n).array();
  inner = now.numbers * weights;
  const std::size_t variance = list_.variance();
  gradient[variance] += (inner * matern).sum();
  if (list_.has_graph) {
    const auto arch = arch_[static_cast<std::size_t>(now.depth)].col(j).tail(n).array();
    weights *= arch;
    inner += now.both * weights;
    gradient[variance + 1] += now.graphs * weights.sum();
    gradient[variance + 2] += now.both * (weights * matern).sum();
  }
  weights = inner * matern;
  for (std::size_t k = 0; k < list_.penalties; ++k) {
    where_other(&categories_(j + 1, to_index(k)), categories_(j, to_index(k)), weights_.data(), n,
                root_.data());
    gradient[list_.lengths + k] -= now.penalties[k] * scratch.sum();
  }
  weights = inner * slope_.col(j).tail(n);
  for (std::size_t k = 0; k < length_of_.size(); ++k) {
    const auto column = scaled_.col(to_index(k));
    gradient[length_of_[k]] += (weights * (column.tail(n) - column[j]).square()).sum();
  }
  slope_.col(j).tail(n) = weights;
}

// With the weights w of all pairs that add_column_gradient() leaves in slope_,
//
//   sum_(i < j) w_ij (z_i - z_j) (x_i - x_j)^T = Z^T (diag(W 1) - W) X
void PosteriorDensity::add_shear_gradient(const KernelParameters& now, std::span<double> gradient) {
  const Index columns = to_index(sheared_.size());
  Eigen::MatrixXd z(y_.size(), columns), x(y_.size(), columns);
  for (Index k = 0; k < columns; ++k) {
    const std::size_t at = sheared_[static_cast<std::size_t>(k)];
    z.col(k) = scaled_.col(to_index(at)) / now.lengths[length_of_[at]];
    x.col(k) = numbers_.col(to_index(at));
  }
  slope_.matrix().diagonal().setZero();
  const auto weights = slope_.matrix().selfadjointView<Eigen::Lower>();
  const Eigen::VectorXd sums = weights * Eigen::VectorXd::Ones(y_.size());
  const Eigen::MatrixXd products = z.transpose() * (sums.asDiagonal() * x - weights * x);
  std::size_t position = list_.shear();
  for (Index row = 1; row < columns; ++row) {
    for (Index column = 0; column < row; ++column) gradient[position++] -= products(row, column);
  }
}

}  // namespace detol::inline surrogate

#include "experiments/lazy_gp/paper_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace detol {
namespace {

constexpr double kNoise = 1e-6;

KernelParameters matern(const Features& features, std::vector<double> lengths) {
  KernelParameters parameters = default_parameters(features);
  parameters.lengths = std::move(lengths);
  parameters.numbers = 1;
  parameters.noise = kNoise;
  return parameters;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

PaperModel::PaperModel(const Features& features, std::vector<double> lengths)
    : features_(&features),
      kernel_(features, matern(features, std::move(lengths))),
      points_(features.empty_points()) {}

void PaperModel::append(const Point& x, double y) {
  std::vector<double> k(size());
  kernel_.row(x, points_, k);
  if (!factor_.append(k, 1 + kNoise)) return;
  points_.push_back(x);
  y_.push_back(y);
  z_.push_back(factor_.solve_last(z_, y));
  o_.push_back(factor_.solve_last(o_, 1));
  outcomes_changed();
}

double PaperModel::mean() const {
  return std::accumulate(y_.begin(), y_.end(), 0.0) / static_cast<double>(y_.size());
}

double PaperModel::best() const {
  return *std::ranges::min_element(y_);
}

void PaperModel::outcomes_changed() {
  weights_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) weights_[i] = z_[i] - mean() * o_[i];
  factor_.solve_transposed(weights_);
}

PaperModel PaperModel::scaled(double factor) const {
  std::vector<double> lengths = kernel_.parameters().lengths;
  for (double& length : lengths) length *= factor;
  PaperModel other(*features_, std::move(lengths));
  std::vector<double> gram = other.kernel_.gram(points_);
  for (std::size_t i = 0; i < size(); ++i) gram[i * size() + i] += kNoise;
  if (!other.factor_.factorise(gram, size())) return other;
  other.points_ = points_;
  other.y_ = other.z_ = y_;
  other.o_.assign(size(), 1);
  other.factor_.solve(other.z_);
  other.factor_.solve(other.o_);
  other.outcomes_changed();
  return other;
}

double PaperModel::log_likelihood() const {
  if (size() == 0) return -std::numeric_limits<double>::infinity();
  std::vector<double> r = z_;
  for (std::size_t i = 0; i < size(); ++i) r[i] -= mean() * o_[i];
  return -0.5 * (dot(r, r) + factor_.log_determinant());
}

// Tries lengths from a tenth to a hundred times the present ones: a coarse grid of their
// logarithms, then a golden section between the neighbours of the best.
std::optional<PaperModel> PaperModel::refitted() const {
  constexpr double kLow = -1, kHigh = 2, kStep = 0.375, kGolden = 0.618033988749895;
  const auto at = [&](double exponent) { return scaled(std::pow(10, exponent)); };
  double best = 0, most = -std::numeric_limits<double>::infinity();
  for (double exponent = kLow; exponent <= kHigh; exponent += kStep) {
    const double likelihood = at(exponent).log_likelihood();
    if (likelihood > most) most = likelihood, best = exponent;
  }
  if (!std::isfinite(most)) return std::nullopt;
  double low = best - kStep, high = best + kStep;
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  double at_a = at(a).log_likelihood(), at_b = at(b).log_likelihood();
  for (int i = 0; i < 7; ++i) {
    if (at_a >= at_b) {
      high = b, b = a, at_b = at_a;
      at_a = at(a = high - kGolden * (high - low)).log_likelihood();
    } else {
      low = a, a = b, at_a = at_b;
      at_b = at(b = low + kGolden * (high - low)).log_likelihood();
    }
  }
  return at(std::max(at_a, at_b) > most ? (at_a >= at_b ? a : b) : best);
}

std::vector<Prediction> PaperModel::predict(const Points& points) const {
  const std::size_t count = points.size();
  std::vector<double> k(size() * count);
  for (std::size_t i = 0; i < size(); ++i)
    kernel_.row(points_[i], points, std::span(k).subspan(i * count, count));
  std::vector<Prediction> predictions(count, {.mean = mean(), .variance = 1});
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t j = 0; j < count; ++j) predictions[j].mean += weights_[i] * k[i * count + j];
  }
  factor_.solve(k, count);
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t j = 0; j < count; ++j)
      predictions[j].variance -= k[i * count + j] * k[i * count + j];
  }
  return predictions;
}

LazyGp::Slope PaperModel::slope(const Point& x) const {
  std::vector<double> k(size());
  kernel_.row(x, points_, k);
  LazyGp::Slope slope;
  slope.at.mean = mean() + dot(k, weights_);
  factor_.solve(k);
  slope.at.variance = 1 - dot(k, k);
  factor_.solve_transposed(k);
  slope.mean = kernel_.gradient(x, points_, weights_);
  slope.variance = kernel_.gradient(x, points_, k);
  for (double& by : slope.variance) by *= -2;
  return slope;
}

}  // namespace detol

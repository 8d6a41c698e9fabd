#include "surrogate/lazy_gp.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "surrogate/arithmetic_impl.h"

namespace detol::inline surrogate {
namespace {

constexpr std::size_t kSinglePoints = 3;  // that are predicted sooner one by one

}  // namespace

LazyGp::LazyGp(const Features& features, KernelParameters parameters)
    : kernel_(features, std::move(parameters)),
      points_(features.empty_points()),
      candidates_(features.empty_points()) {
  points_.index_graphs();
}

LazyGp::LazyGp(const Features& features, KernelParameters parameters, const Points& points,
               std::span<const double> y)
    : LazyGp(features, std::move(parameters)) {
  for (std::size_t i = 0; i < points.size(); ++i) points_.push_back(points[i]);
  std::vector<double> matrix = kernel_.lower_gram(points_);
  const std::size_t n = points.size();
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += kernel_.parameters().noise;
  if (!factor_.factorise(matrix, n)) {
    points_.truncate(0);
    for (std::size_t i = 0; i < n; ++i) append(points[i], y[i]);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) entries_.push_back({.row = i, .y = y[i]});
  y_.assign(y.begin(), y.end());
  o_.assign(n, 1);
  factor_.solve(o_);
  measured_ = n;
  outcomes_changed();
}

void LazyGp::update_mean() {
  const std::span<const double> z = std::span(z_).first(measured_),
                                o = std::span(o_).first(measured_);
  mean_ = measured_ == 0 ? 0 : dot(z, o) / dot(o, o);
}

void LazyGp::append(const Point& x, double y, Begun begun) {
  if (append_row(x, y, begun)) return;
  std::vector<double> k(rows());
  kernel_.row(x, points_, k);
  const std::size_t row = most_alike(k);
  entries_.push_back({.row = row, .y = y, .is_merged = true});
  y_[row] = outcome_of(row);
  outcomes_changed();
}

bool LazyGp::append_row(const Point& x, double y, Begun& begun) {
  if (!append_to_factor(x, begun.row)) return false;
  append_outcome(x, y);
  append_to_pool(rows() - 1, begun);
  measured_ = rows();
  update_mean();
  return true;
}

void LazyGp::append_fantasy(const Point& x, Begun& begun) {
  if (!append_to_factor(x, begun.row)) {
    std::vector<double> k(rows());
    kernel_.row(x, points_, k);
    const std::size_t row = most_alike(k);
    entries_.push_back({.row = row, .y = y_[row], .is_merged = true});
    return;
  }
  const std::span<const double> v = factor_.row(rows()).first(rows());
  append_outcome(x, mean_ + dot(v, z_) - mean_ * dot(v, o_));
  const std::span<const double> row = factor_.row(rows() - 1).first(measured_);
  begun.row.insert(begun.row.end(), row.data() + begun.row.size(), row.data() + row.size());
}

bool LazyGp::append_to_factor(const Point& x, std::span<const double> begun) {
  std::vector<double> k(rows());
  kernel_.row(x, points_, std::span(k).subspan(begun.size()), begun.size());
  return factor_.append(k, noisy_variance(), begun);
}

void LazyGp::append_outcome(const Point& x, double y) {
  z_.push_back(factor_.solve_last(z_, y));
  o_.push_back(factor_.solve_last(o_, 1));
  y_.push_back(y);
  entries_.push_back({.row = rows(), .y = y});
  points_.push_back(x);
  weights_.clear();
}

void LazyGp::append_to_pool(std::size_t row, Begun& begun) {
  if (!pool_) return;
  if (begun.with_candidates.empty()) {
    begun.with_candidates.resize(candidates_.size());
    kernel_.row(points_[row], candidates_, begun.with_candidates);
  }
  pool_->subtract(factor_.row(row), begun.explained, measured_, begun.with_candidates);
  begun.explained = measured_;
  pool_->append(factor_.row(row), begun.with_candidates, z_[row], o_[row], measured_);
}

void LazyGp::update_candidates(std::size_t observation, Begun& begun) {
  const Entry& entry = entries_[observation];
  if (!pool_ || entry.is_merged || entry.row < pool_->observations()) return;
  if (entry.row == measured_) pool_->keep_sums();
  append_to_pool(entry.row, begun);
}

void LazyGp::truncate(std::size_t observations) {
  assert(observations <= entries_.size());
  std::vector<std::size_t> changed;
  std::size_t rows_left = rows();
  while (entries_.size() > observations) {
    const Entry last = entries_.back();
    entries_.pop_back();
    if (last.is_merged)
      changed.push_back(last.row);
    else
      rows_left = last.row;
  }
  points_.truncate(rows_left);
  factor_.truncate(rows_left);
  y_.resize(rows_left);
  z_.resize(rows_left);
  o_.resize(rows_left);
  if (rows_left < measured_) {
    measured_ = rows_left;
    update_mean();
  }
  weights_.clear();
  if (pool_) pool_->truncate(std::min(pool_->observations(), rows_left));
  std::erase_if(changed, [&](std::size_t row) { return row >= rows_left; });
  for (std::size_t row : changed) y_[row] = outcome_of(row);
  if (!changed.empty()) outcomes_changed();
}

void LazyGp::replace(std::size_t observation, double y) {
  Entry& entry = entries_[observation];
  entry.y = y;
  y_[entry.row] = outcome_of(entry.row);
  outcomes_changed();
}

void LazyGp::replace_all(std::span<const double> y) {
  assert(y.size() == entries_.size());
  std::vector<double> sums(rows(), 0), counts(rows(), 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    entries_[i].y = y[i];
    sums[entries_[i].row] += y[i];
    ++counts[entries_[i].row];
  }
  for (std::size_t row = 0; row < rows(); ++row) y_[row] = sums[row] / counts[row];
  outcomes_changed();
}

std::vector<double> LazyGp::innovations(std::size_t from) const {
  std::vector<double> innovations;
  const double m = mean();
  for (std::size_t i = from; i < entries_.size(); ++i) {
    const std::size_t row = entries_[i].row;
    if (!entries_[i].is_merged) innovations.push_back(z_[row] - m * o_[row]);
  }
  return innovations;
}

std::vector<double> LazyGp::smoothed() const {
  std::vector<double> means = y_;
  const std::span<const double> w = weights();
  for (std::size_t i = 0; i < means.size(); ++i) means[i] -= kernel_.parameters().noise * w[i];
  return means;
}

Prediction LazyGp::predict(const Point& x) const {
  std::vector<double> v(rows());
  kernel_.row(x, points_, v);
  factor_.solve(v);
  const double m = mean();
  return {.mean = m + dot(v, z_) - m * dot(v, o_),
          .variance = std::max(0.0, kernel_.variance() - dot(v, v))};
}

std::vector<Prediction> LazyGp::predict(const Points& points) const {
  const std::size_t count = points.size();
  if (count <= kSinglePoints) {
    std::vector<Prediction> predictions;
    for (std::size_t j = 0; j < count; ++j) predictions.push_back(predict(points[j]));
    return predictions;
  }
  std::vector<double> v(rows() * count), k(rows());
  for (std::size_t j = 0; j < count; ++j) {
    kernel_.row(points[j], points_, k);
    for (std::size_t i = 0; i < rows(); ++i) v[i * count + j] = k[i];
  }
  factor_.solve(v, count);
  const double m = mean();
  std::vector<Prediction> predictions(count, {.mean = m, .variance = kernel_.variance()});
  for (std::size_t i = 0; i < rows(); ++i) {
    const double residual = z_[i] - m * o_[i];
    for (std::size_t j = 0; j < count; ++j) {
      const double value = v[i * count + j];
      predictions[j].mean += value * residual;
      predictions[j].variance -= value * value;
    }
  }
  for (Prediction& prediction : predictions)
    prediction.variance = std::max(0.0, prediction.variance);
  return predictions;
}

LazyGp::Slope LazyGp::slope(const Point& x) const {
  std::vector<double> v(rows());
  kernel_.row(x, points_, v);
  factor_.solve(v);
  const double m = mean();
  Slope slope;
  slope.at = {.mean = m + dot(v, z_) - m * dot(v, o_),
              .variance = std::max(0.0, kernel_.variance() - dot(v, v))};
  factor_.solve_transposed(v);
  for (double& value : v) value *= -2;
  slope.mean = kernel_.gradient(x, points_, weights());
  slope.variance = kernel_.gradient(x, points_, v);
  return slope;
}

std::vector<double> LazyGp::means(const Points& points) const {
  std::vector<double> means, k(rows());
  for (std::size_t i = 0; i < points.size(); ++i) {
    kernel_.row(points[i], points_, k);
    means.push_back(mean() + dot(k, weights()));
  }
  return means;
}

std::span<const double> LazyGp::weights() const {
  if (weights_.size() != rows()) {
    const double m = mean();
    weights_.resize(rows());
    for (std::size_t i = 0; i < rows(); ++i) weights_[i] = z_[i] - m * o_[i];
    factor_.solve_transposed(weights_);
  }
  return weights_;
}

double LazyGp::log_likelihood() const {
  const double m = mean();
  double squares = 0;
  for (std::size_t i = 0; i < rows(); ++i) squares += (z_[i] - m * o_[i]) * (z_[i] - m * o_[i]);
  const double n = static_cast<double>(rows());
  return -0.5 * (squares + factor_.log_determinant() + n * std::log(2 * std::numbers::pi));
}

void LazyGp::attach(Points candidates) {
  candidates_ = std::move(candidates);
  candidates_.index_graphs();
  pool_.emplace(candidates_.size());
  const std::size_t m = candidates_.size();
  std::vector<double> k(rows() * m);
  for (std::size_t i = 0; i < rows(); ++i)
    kernel_.row(points_[i], candidates_, std::span(k).subspan(i * m, m));
  pool_->assign(factor_, k, z_, o_);
}

std::vector<Prediction> LazyGp::predict_candidates() const {
  assert(pool_->observations() == rows());
  const double m = mean();
  std::vector<Prediction> predictions;
  predictions.reserve(candidates_.size());
  for (std::size_t j = 0; j < candidates_.size(); ++j) {
    predictions.push_back({.mean = m + pool_->with_z()[j] - m * pool_->with_o()[j],
                           .variance = std::max(0.0, kernel_.variance() - pool_->squares()[j])});
  }
  return predictions;
}

std::size_t LazyGp::bytes() const {
  return factor_.bytes() + (pool_ ? pool_->bytes() : 0) +
         rows() * (3 * sizeof(double) + sizeof(Entry) + points_.number_columns() * sizeof(double) +
                   points_.category_columns() * sizeof(int));
}

std::size_t LazyGp::most_alike(std::span<const double> k) const {
  return static_cast<std::size_t>(std::max_element(k.begin(), k.end()) - k.begin());
}

double LazyGp::outcome_of(std::size_t row) const {
  double sum = 0, count = 0;
  for (const Entry& entry : entries_) {
    if (entry.row != row) continue;
    sum += entry.y;
    ++count;
  }
  return sum / count;
}

void LazyGp::outcomes_changed() {
  z_ = y_;
  factor_.solve(z_);
  update_mean();
  weights_.clear();
  if (pool_) pool_->replace_outcomes(std::span(z_).first(pool_->observations()));
}

}  // namespace detol::inline surrogate

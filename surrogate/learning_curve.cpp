#include "surrogate/learning_curve.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "surrogate/arithmetic_impl.h"

namespace detol::inline surrogate {
namespace {

constexpr double kGrowth = 1.3;
constexpr double kFarBetter = -100;  // deviations: better values count as this
constexpr double kAlmostInfinite = 1e100;

// Returns the epochs that are seen, evenly spaced in the root of the epoch: closer at the
// beginning, where curves bend.
std::vector<double> seen_epochs(int epochs, std::span<const double> early) {
  std::vector<double> seen(early.begin(), early.end());
  const int points = std::min(epochs, LearningCurves::kMostEpochs);
  for (int i = 0; i < points; ++i) {
    const double share = points == 1 ? 1 : static_cast<double>(i) / (points - 1);
    const double root = 1 + share * (std::sqrt(epochs) - 1);
    const double epoch = points == epochs ? i + 1 : std::round(root * root);
    seen.push_back(seen.empty() ? epoch : std::max(epoch, std::floor(seen.back()) + 1));
  }
  return seen;
}

double interpolated(double from, double before, double to, double after, double at) {
  if (from == 0 || !std::isfinite(before) || !std::isfinite(after)) return after;
  return before + (after - before) * (at - from) / (to - from);
}

// Returns the quantile at `share` of the values, and reorders them.
double quantile(std::vector<double>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

double LearningCurves::Units::to_model(double value) const {
  return std::max(kFarBetter, (std::min(value, highest) - centre) / scale);
}

LearningCurves::LearningCurves(int epochs, std::span<const double> early)
    : epochs_(seen_epochs(epochs, early)) {
  assert(epochs >= 1);
}

void LearningCurves::observe(std::uint64_t trial, double epoch, double value) {
  Curve& curve = curves_[trial];
  if (epoch <= curve.last_epoch) return;
  if (curve.last_epoch == 0) order_.push_back(trial);
  if (std::isnan(value) || value > kAlmostInfinite) value = kInfinity;
  if (value < -kAlmostInfinite) value = -kInfinity;
  while (curve.values.size() < epochs_.size() && epochs_[curve.values.size()] <= epoch) {
    const double at = epochs_[curve.values.size()];
    curve.values.push_back(interpolated(curve.last_epoch, curve.last_value, epoch, value, at));
    ++values_;
  }
  curve.last_epoch = epoch;
  curve.last_value = value;
}

// Returns the place in epochs_ of the first that is not before this one.
std::size_t LearningCurves::index_of(double epoch) const {
  const auto index = std::ranges::lower_bound(epochs_, epoch) - epochs_.begin();
  return std::min<std::size_t>(static_cast<std::size_t>(index), epochs_.size() - 1);
}

std::span<const double> LearningCurves::values_of(std::uint64_t trial) const {
  const auto found = curves_.find(trial);
  if (found == curves_.end()) return {};
  return found->second.values;
}

LearningCurves::Outlook LearningCurves::outlook(std::uint64_t trial, double look, double epoch) {
  const Prediction now = predict(trial, epoch);
  const std::size_t target = index_of(epoch), known = values_of(trial).size();
  if (index_of(look) >= target) return {.now = now, .variance_after_look = 0};
  if (!std::isfinite(now.variance)) return {.now = now, .variance_after_look = now.variance};
  const auto& later = forecasts(target);
  const double left = later[std::max(known, index_of(look) + 1)].variance / later[known].variance;
  return {.now = now, .variance_after_look = left * now.variance};
}

Prediction LearningCurves::predict(std::uint64_t trial, double epoch) {
  return predict_from(values_of(trial), index_of(epoch));
}

Prediction LearningCurves::predict_from(std::uint64_t trial, double known, double epoch) {
  const std::span<const double> values = values_of(trial);
  const std::size_t seen = std::min(values.size(), index_of(known) + 1);
  return predict_from(values.first(seen), index_of(epoch));
}

Prediction LearningCurves::predict_from(std::span<const double> values, std::size_t target) {
  if (target < values.size()) return {.mean = values[target], .variance = 0};
  if (static_cast<double>(values_) >= kGrowth * static_cast<double>(learned_at_)) learn();
  if (!model_) return {.mean = 0, .variance = kInfinity};
  std::vector<double> known;
  for (double value : values) known.push_back(units_.to_model(value));
  const Prediction in_units = model_->predict(forecasts(target)[known.size()], known);
  return {.mean = units_.centre + units_.scale * in_units.mean,
          .variance = units_.scale * units_.scale * in_units.variance};
}

// Returns the latest trials, and the latest of full length, in their order.
std::vector<std::uint64_t> LearningCurves::learned_from() const {
  std::vector<std::uint64_t> trials;
  std::size_t latest = 0, complete = 0;
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const std::uint64_t trial = *at;
    const bool is_complete = curves_.at(trial).values.size() == epochs_.size();
    complete += is_complete ? 1 : 0;
    if (++latest <= kMostCurves || (is_complete && complete <= kMostCurves))
      trials.push_back(trial);
  }
  std::ranges::reverse(trials);
  return trials;
}

void LearningCurves::learn() {
  learned_at_ = values_;
  ++fits_;
  std::vector<std::vector<double>> curves;
  std::vector<double> all;
  for (const std::uint64_t trial : learned_from()) {
    const std::vector<double>& values = curves_.at(trial).values;
    // A curve that diverges is used only up to there.
    const auto end = std::ranges::find_if_not(values, [](double y) { return std::isfinite(y); });
    curves.emplace_back(values.begin(), end);
    all.insert(all.end(), values.begin(), end);
  }
  if (all.empty()) return;
  const double low = quantile(all, 0.1), middle = quantile(all, 0.5), high = quantile(all, 0.9);
  const double range = high > low ? high - low : std::ranges::max(all) - std::ranges::min(all);
  units_ = {.centre = middle, .scale = range > 0 ? range / 2 : 1, .highest = high + 2 * range};
  for (std::vector<double>& curve : curves) {
    for (double& value : curve) value = units_.to_model(value);
  }
  const CurveScatter scatter(epochs_, curves);
  kernel_ = fit_curve_kernel(scatter, kernel_);
  model_.emplace(scatter, kernel_);
  forecasts_.assign(epochs_.size(), {});
}

const std::vector<CurveModel::Forecast>& LearningCurves::forecasts(std::size_t target) {
  if (forecasts_[target].empty()) forecasts_[target] = model_->forecasts(target);
  return forecasts_[target];
}

}  // namespace detol::inline surrogate

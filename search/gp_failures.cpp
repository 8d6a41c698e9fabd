#include "search/gp_failures.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "surrogate/acquisition.h"
#include "surrogate/fit.h"

namespace detol::inline search {
namespace {

constexpr double kGrowth = 1.2;             // of the trials between fits
constexpr std::size_t kMostAppended = 64;   // trials between fits
constexpr std::size_t kMostTrials = 128;    // of a fit, with which the process begins
constexpr double kLeastUncertainty = 1e-9;  // so that logarithms stay finite
constexpr double kSuccess = -1, kFailure = 1;

// The power of the probability: where the best trials lie beside those that fail, the expected
// improvement is greatest beyond the boundary, and half of the proposals there are to succeed.
constexpr double kCaution = 2;

// Keeps at most so many: half of them the latest, the others random.
void thin_out(std::vector<std::size_t>& trials, std::size_t most, Rng rng) {
  if (trials.size() <= most) return;
  const auto latest = trials.end() - static_cast<std::ptrdiff_t>(most / 2);
  rng.shuffle(std::span(trials.begin(), latest));
  trials.erase(trials.begin() + static_cast<std::ptrdiff_t>(most - most / 2), latest);
}

AcquisitionValue cautious(const LazyGp& process, Prediction at) {
  at.variance += process.kernel().parameters().noise + kLeastUncertainty;
  AcquisitionValue value = log_probability_below(at, 0);
  value.value *= kCaution;
  value.by_mean *= kCaution;
  value.by_variance *= kCaution;
  return value;
}

}  // namespace

GpFailures::GpFailures(const Features& features)
    : features_(features), points_(features.empty_points()) {}

void GpFailures::tell(const Point& x, bool has_failed) {
  points_.push_back(x);
  labels_.push_back(has_failed ? kFailure : kSuccess);
  if (has_failed) ++failed_;
  const double grown = kGrowth * static_cast<double>(due_);
  if (static_cast<double>(labels_.size()) >= grown || labels_.size() >= due_ + kMostAppended)
    due_ = labels_.size();
}

void GpFailures::update() {
  if (!is_informed()) return;
  if (fitted_ != due_) fit_anew();
  for (; known_ < labels_.size(); ++known_) process_->append(points_[known_], labels_[known_]);
}

// Returns the trials that a fit uses: as many that failed as others, where there are enough.
std::vector<std::size_t> GpFailures::chosen_for_fit() const {
  std::vector<std::size_t> failed, others;
  for (std::size_t i = 0; i < due_; ++i) (labels_[i] == kFailure ? failed : others).push_back(i);
  constexpr std::size_t kHalf = kMostTrials / 2;
  const std::size_t spare = kHalf - std::min(kHalf, failed.size());
  const std::size_t rest = kHalf - std::min(kHalf, others.size());
  thin_out(failed, kHalf + rest, Rng(due_).split(0));
  thin_out(others, kHalf + spare, Rng(due_).split(1));
  failed.insert(failed.end(), others.begin(), others.end());
  std::ranges::sort(failed);
  return failed;
}

void GpFailures::fit_anew() {
  Points points = features_.empty_points();
  std::vector<double> labels;
  for (std::size_t i : chosen_for_fit()) {
    points.push_back(points_[i]);
    labels.push_back(labels_[i]);
  }
  const FitResult best = fit(features_, points, labels, default_parameters(features_));
  process_.emplace(features_, best.parameters, points, labels);
  fitted_ = known_ = due_;
}

double GpFailures::success(const Point& x) const {
  return std::exp(log_chance(x) / kCaution);
}

double GpFailures::log_chance(const Point& x) const {
  return cautious(*process_, process_->predict(x)).value;
}

GpFailures::Chance GpFailures::chance(const Point& x) const {
  const LazyGp::Slope slope = process_->slope(x);
  const AcquisitionValue value = cautious(*process_, slope.at);
  Chance chance{.log = value.value, .slope = {}};
  for (std::size_t i = 0; i < slope.mean.size(); ++i)
    chance.slope.push_back(value.by_mean * slope.mean[i] + value.by_variance * slope.variance[i]);
  return chance;
}

void GpFailures::drop_likely(std::vector<Genome>& genomes, Rng& rng) const {
  if (!is_informed()) return;
  std::vector<Genome> kept;
  for (Genome& genome : genomes) {
    if (rng.chance(std::exp(log_chance(features_.of(genome))))) kept.push_back(std::move(genome));
  }
  genomes = std::move(kept);
}

}  // namespace detol::inline search

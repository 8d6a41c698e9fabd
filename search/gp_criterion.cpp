#include "search/gp_criterion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "surrogate/acquisition.h"

namespace detol::inline search {
namespace {

constexpr double kBeta = 2;  // deviations below the mean of the confidence bound

// kBeyond: the reference point lies at least so many deviations of all outcomes beyond the front: a
// front that is all at one end of an objective would otherwise never grow to the other.
constexpr double kBeyond = 1;

constexpr std::size_t kMostImproved = 5;  // objectives of which all are improved at once
constexpr std::size_t kDrawn = 3;         // of more

constexpr double kLeastVariance = 1e-12;  // share of the prior variance

// Returns nullopt if no observation keeps the constraints.
std::optional<HypervolumeImprovement> front_of_model(const GpModel& model,
                                                     std::span<const std::size_t> improved) {
  const Observed& observed = model.observed();
  std::vector<Losses> points;
  for (std::size_t j = 0; j < observed.size(); ++j) {
    if (observed.violation(j) > 0) continue;
    Losses& point = points.emplace_back();
    for (const std::size_t i : improved)
      point.push_back(model.fits()[i].transform(observed.outcomes[i][j]));
  }
  if (points.empty()) return std::nullopt;
  const std::vector<Losses> front = front_of(points);
  Losses reference = reference_point(points);
  for (std::size_t k = 0; k < reference.size(); ++k) {
    double worst = front.front()[k];
    for (const Losses& point : front) worst = std::max(worst, point[k]);
    reference[k] = std::max(reference[k], worst + kBeyond);
    const auto& given = observed.bounds.references;
    const std::size_t i = improved[k];
    if (i < given.size() && given[i]) reference[k] = model.fits()[i].transform(*given[i]);
  }
  return HypervolumeImprovement(front, std::move(reference));
}

}  // namespace

std::optional<GpAcquisition> acquisition_from(std::string_view word) {
  if (word == "auto") return GpAcquisition::kAuto;
  if (word == "ei") return GpAcquisition::kImprovement;
  if (word == "ei_per_work") return GpAcquisition::kPerWork;
  if (word == "ucb") return GpAcquisition::kBound;
  if (word == "thompson") return GpAcquisition::kThompson;
  return std::nullopt;
}

std::vector<std::size_t> objectives_to_improve(std::size_t objectives, Rng rng) {
  std::vector<std::size_t> improved(objectives);
  std::iota(improved.begin(), improved.end(), 0);
  if (objectives <= kMostImproved) return improved;
  rng.shuffle(std::span(improved));
  improved.resize(kDrawn);
  std::ranges::sort(improved);
  return improved;
}

GpCriterion::GpCriterion(const GpModel& model, GpAcquisition acquisition,
                         std::optional<double> reference, std::vector<std::size_t> improved)
    : acquisition_(acquisition),
      objectives_(model.observed().objectives),
      improved_(std::move(improved)),
      first_constraint_(model.observed().first_constraint()) {
  for (std::size_t i = 0; i < model.observed().outcomes.size(); ++i)
    least_variance_.push_back(kLeastVariance * model.output(i).kernel().variance());
  for (std::size_t i = first_constraint_; i < least_variance_.size(); ++i)
    bounds_.push_back(model.bound(i));
  reference_ = reference ? reference : model.least_smoothed(0);
  if (objectives_ == 1) return;
  if (improved_.empty()) {
    improved_.resize(objectives_);
    std::iota(improved_.begin(), improved_.end(), 0);
  }
  front_ = front_of_model(model, improved_);
  if (!front_) reference_.reset();
}

GpCriterion::Value GpCriterion::operator()(std::span<const Prediction> at) const {
  const std::vector<Prediction> uncertain = floored(at);
  Value value = nothing();
  if (reference_) add_improvement(uncertain, value);
  if (acquisition_ == GpAcquisition::kPerWork && first_constraint_ > objectives_) {
    value.value = log_improvement_per_work(value.value, at[objectives_], 1);
    value.by_mean[objectives_] = -1;
  }
  add_feasibility(uncertain, value);
  return value;
}

std::optional<double> GpCriterion::feasibility(std::span<const Prediction> at) const {
  if (bounds_.empty()) return std::nullopt;
  Value value = nothing();
  add_feasibility(floored(at), value);
  return std::exp(value.value);
}

void GpCriterion::add_improvement(std::span<const Prediction> at, Value& value) const {
  if (front_ && acquisition_ != GpAcquisition::kBound) {
    std::vector<Prediction> of_improved;
    for (const std::size_t i : improved_) of_improved.push_back(at[i]);
    const auto improvement = front_->log_expected(of_improved);
    value.value = improvement.value;
    for (std::size_t k = 0; k < improved_.size(); ++k) {
      value.by_mean[improved_[k]] = improvement.by_mean[k];
      value.by_variance[improved_[k]] = improvement.by_variance[k];
    }
    return;
  }
  const AcquisitionValue acquired = acquisition_ == GpAcquisition::kBound
                                        ? confidence_bound(at[0], kBeta)
                                        : log_expected_improvement(at[0], *reference_);
  value.value = acquired.value;
  value.by_mean[0] = acquired.by_mean;
  value.by_variance[0] = acquired.by_variance;
}

void GpCriterion::add_feasibility(std::span<const Prediction> at, Value& value) const {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    const std::size_t output = first_constraint_ + i;
    const AcquisitionValue kept = log_probability_below(at[output], bounds_[i]);
    value.value += kept.value;
    value.by_mean[output] = kept.by_mean;
    value.by_variance[output] = kept.by_variance;
  }
}

std::vector<Prediction> GpCriterion::floored(std::span<const Prediction> at) const {
  std::vector<Prediction> floored(at.begin(), at.end());
  for (std::size_t i = 0; i < floored.size(); ++i)
    floored[i].variance = std::max(floored[i].variance, least_variance_[i]);
  return floored;
}

GpCriterion::Value GpCriterion::nothing() const {
  return {.value = 0,
          .by_mean = std::vector<double>(least_variance_.size(), 0),
          .by_variance = std::vector<double>(least_variance_.size(), 0)};
}

}  // namespace detol::inline search

#include "search/gp_criterion.h"

#include <algorithm>

#include "surrogate/acquisition.h"

namespace detol::inline search {
namespace {

constexpr double kBeta = 2;  // deviations below the mean of the confidence bound

// kBeyond: the reference point lies at least so many deviations of all outcomes beyond the front: a
// front that is all at one end of an objective would otherwise never grow to the other.
constexpr double kBeyond = 1;

constexpr double kLeastVariance = 1e-12;  // share of the prior variance

HypervolumeImprovement front_of_model(const GpModel& model) {
  const Observed& observed = model.observed();
  std::vector<Losses> points(observed.size());
  for (std::size_t i = 0; i < observed.objectives; ++i) {
    for (std::size_t j = 0; j < points.size(); ++j)
      points[j].push_back(model.fits()[i].transform(observed.outcomes[i][j]));
  }
  const std::vector<Losses> front = front_of(points);
  Losses reference = reference_point(points);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    double worst = front.front()[i];
    for (const Losses& point : front) worst = std::max(worst, point[i]);
    reference[i] = std::max(reference[i], worst + kBeyond);
  }
  return HypervolumeImprovement(front, std::move(reference));
}

}  // namespace

std::optional<GpAcquisition> acquisition_from(std::string_view word) {
  if (word == "ei") return GpAcquisition::kImprovement;
  if (word == "ei_per_work") return GpAcquisition::kPerWork;
  if (word == "ucb") return GpAcquisition::kBound;
  if (word == "thompson") return GpAcquisition::kThompson;
  return std::nullopt;
}

GpCriterion::GpCriterion(const GpModel& model, GpAcquisition acquisition,
                         std::optional<double> reference)
    : acquisition_(acquisition), objectives_(model.observed().objectives) {
  for (std::size_t i = 0; i < model.observed().outcomes.size(); ++i)
    least_variance_.push_back(kLeastVariance * model.output(i).kernel().variance());
  reference_ = reference ? *reference : model.least_smoothed(0);
  if (objectives_ > 1) front_.emplace(front_of_model(model));
}

GpCriterion::Value GpCriterion::operator()(std::span<const Prediction> at) const {
  std::vector<Prediction> floored(at.begin(), at.end());
  for (std::size_t i = 0; i < floored.size(); ++i)
    floored[i].variance = std::max(floored[i].variance, least_variance_[i]);
  Value value{.value = 0,
              .by_mean = std::vector<double>(at.size(), 0),
              .by_variance = std::vector<double>(at.size(), 0)};
  if (front_ && acquisition_ != GpAcquisition::kBound) {
    const auto improvement = front_->log_expected(std::span(floored).first(objectives_));
    value.value = improvement.value;
    std::ranges::copy(improvement.by_mean, value.by_mean.begin());
    std::ranges::copy(improvement.by_variance, value.by_variance.begin());
  } else {
    const AcquisitionValue acquired = acquisition_ == GpAcquisition::kBound
                                          ? confidence_bound(floored[0], kBeta)
                                          : log_expected_improvement(floored[0], reference_);
    value.value = acquired.value;
    value.by_mean[0] = acquired.by_mean;
    value.by_variance[0] = acquired.by_variance;
  }
  if (acquisition_ == GpAcquisition::kPerWork && at.size() > objectives_) {
    value.value = log_improvement_per_work(value.value, at[objectives_], 1);
    value.by_mean[objectives_] = -1;
  }
  return value;
}

}  // namespace detol::inline search

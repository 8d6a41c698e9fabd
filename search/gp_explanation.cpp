#include "search/gp_explanation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace detol::inline search {
namespace {

constexpr int kMostDoublings = 1000;  // of the distance below all outcomes; then it is too far
constexpr int kBisections = 100;

// Returns the least outcome that is transformed to y, by bisection: the transform keeps the order.
// No outcome is worse than the worst that the transform tells apart.
double untransformed(const OutcomeTransform& transform, double y,
                     std::span<const double> outcomes) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (double outcome : outcomes) {
    if (!std::isfinite(outcome)) continue;
    low = std::min(low, outcome);
    high = std::max(high, outcome);
  }
  if (!(low <= high)) return y;
  y = std::min(y, transform(high));
  double step = high > low ? high - low : 1;
  for (int i = 0; i < kMostDoublings && transform(low) > y; ++i, step *= 2) low -= step;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = low + (high - low) / 2;
    (transform(middle) < y ? low : high) = middle;
  }
  return high;
}

Explanation::Predicted in_units(const Prediction& at, const OutcomeTransform& transform,
                                std::span<const double> outcomes, const Objective& objective) {
  const double deviation = std::sqrt(std::max(0.0, at.variance));
  const auto outcome = [&](double y) { return untransformed(transform, y, outcomes); };
  const double sign = objective.direction == Direction::kMinimize ? 1 : -1;
  return {.value = sign * outcome(at.mean),
          .deviation = (outcome(at.mean + deviation) - outcome(at.mean - deviation)) / 2};
}

}  // namespace

Explanation explained(const GpModel& model, GpAcquisition acquisition, const Points& at,
                      std::span<const Objective> objectives) {
  Explanation explanation{.model = "gp"};
  std::vector<Prediction> predictions;
  for (std::size_t i = 0; i < model.observed().outcomes.size(); ++i)
    predictions.push_back(model.predict(i, at).front());
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    explanation.predictions.push_back(in_units(predictions[i], model.fits()[i].transform,
                                               model.observed().outcomes[i], objectives[i]));
  }
  explanation.acquisition = GpCriterion(model, acquisition)(predictions).value;
  return explanation;
}

}  // namespace detol::inline search

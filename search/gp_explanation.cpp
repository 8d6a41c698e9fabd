#include "search/gp_explanation.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace detol::inline search {
namespace {

Explanation::Predicted in_units(const Prediction& at, const OutcomeTransform& transform,
                                const Objective& objective) {
  const double deviation = std::sqrt(std::max(0.0, at.variance));
  return {
      .value = to_loss(objective.direction, transform.inverse(at.mean)),
      .deviation =
          (transform.inverse(at.mean + deviation) - transform.inverse(at.mean - deviation)) / 2};
}

}  // namespace

Explanation explained(const GpModel& model, GpAcquisition acquisition, const Points& at,
                      std::span<const Objective> objectives, std::vector<std::size_t> improved) {
  Explanation explanation{.model = "gp"};
  std::vector<Prediction> predictions;
  for (std::size_t i = 0; i < model.observed().outcomes.size(); ++i)
    predictions.push_back(model.predict(i, at).front());
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    explanation.predictions.push_back(
        in_units(predictions[i], model.fits()[i].transform, objectives[i]));
  }
  const GpCriterion criterion(model, acquisition, std::nullopt, std::move(improved));
  explanation.acquisition = criterion(predictions).value;
  explanation.feasibility = criterion.feasibility(predictions);
  return explanation;
}

}  // namespace detol::inline search

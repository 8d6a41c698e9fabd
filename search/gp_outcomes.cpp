#include "search/gp_outcomes.h"

#include <algorithm>
#include <cmath>

#include "search/outcome_value.h"

namespace detol::inline search {

bool was_resumed(const ToldTrial& before, const ToldTrial& now) {
  return !before.outcomes.empty() && !now.outcomes.empty() && before.fidelity > 0 &&
         now.fidelity > before.fidelity;
}

std::vector<double> GpOutputs::of(const Outcome& outcome) const {
  std::vector<double> outcomes = losses_of(outcome, objectives_);
  if (outcomes.empty()) return outcomes;
  const Measured& measured = std::get<Measured>(outcome);
  if (has_work_) outcomes.push_back(std::log(std::max(1.0, measured.work)));
  for (std::size_t i = 0; i < constraints_; ++i)
    outcomes.push_back(i < measured.excesses.size() ? measured.excesses[i] : 0);
  return outcomes;
}

OutputBounds GpOutputs::bounds() const {
  OutputBounds bounds{.constraints = constraints_};
  for (const Objective& objective : objectives_) {
    auto& reference = bounds.references.emplace_back(objective.reference);
    if (reference) reference = to_loss(objective.direction, *reference);
  }
  return bounds;
}

bool ArmLosses::see(std::span<const double> outcomes) {
  if (violation_of(outcomes.last(constraints_)) > 0) {
    has_violation_ = true;
    return false;
  }
  const double loss = outcomes.front();
  if (!std::isfinite(loss) || (greatest_ && loss <= *greatest_)) return false;
  greatest_ = loss;
  return has_violation_;
}

double ArmLosses::operator()(std::span<const double> outcomes) const {
  const double violation = violation_of(outcomes.last(constraints_));
  return violation > 0 ? greatest_.value_or(0) + violation : outcomes.front();
}

}  // namespace detol::inline search

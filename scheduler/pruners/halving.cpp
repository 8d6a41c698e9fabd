#include "scheduler/pruners/halving.h"

#include <limits>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"

namespace detol::inline scheduler {

Halving::Halving(const PrunerSettings& settings, std::span<const double> rungs,
                 std::int64_t reduction_factor)
    : directions_{settings.direction}, reduction_factor_(reduction_factor) {
  directions_.insert(directions_.end(), settings.others.begin(), settings.others.end());
  for (const double epochs : rungs) rungs_[epochs];
}

Advice Halving::judge(TrialId trial, double epochs, std::span<const double> values) {
  const bool is_nan = values.front() != values.front();
  const auto rung = rungs_.find(epochs);
  if (rung == rungs_.end()) return is_nan ? Advice::kStop : Advice::kContinue;
  RungPlace place{.loss = loss_of(directions_.front(), values.front()), .trial = trial};
  for (std::size_t i = 0; values.size() > 1 && i < values.size(); ++i)
    place.losses.push_back(loss_of(directions_[i], values[i]));
  rung->second.enter(place, !is_nan, reduction_factor_);
  if (is_nan) return Advice::kStop;
  withdraw(trial);  // from the rung below, where it did not pause
  paused_.emplace(trial, Paused{&rung->second, place});
  if (promotion() != trial) return Advice::kPause;
  withdraw(trial);
  return Advice::kContinue;
}

double Halving::undecided(double epochs) const {
  const auto next = rungs_.upper_bound(epochs);
  return next == rungs_.end() ? std::numeric_limits<double>::infinity() : next->first;
}

std::optional<TrialId> Halving::promotion() const {
  for (auto rung = rungs_.rbegin(); rung != rungs_.rend(); ++rung) {
    const auto& promotable = rung->second.promotable();
    if (!promotable.empty()) return promotable.begin()->trial;
  }
  return std::nullopt;
}

void Halving::withdraw(TrialId trial) {
  const auto found = paused_.find(trial);
  if (found == paused_.end()) return;
  found->second.rung->withdraw(found->second.place);
  paused_.erase(found);
}

Result<HalvingRule> halving_rule(std::string_view pruner, const PrunerSettings& settings) {
  OptionReader options(pruner, settings.options);
  const std::int64_t min_resource = options.whole("min_resource", 1, 1, 1'000'000);
  HalvingRule rule{.rungs = settings.early_reports,
                   .reduction_factor = options.whole("reduction_factor", 3, 2, 1'000)};
  DETOL_TRY(options.done());
  for (std::int64_t epoch = min_resource; epoch < settings.max_epochs;
       epoch *= rule.reduction_factor)
    rule.rungs.push_back(static_cast<double>(epoch));
  return rule;
}

}  // namespace detol::inline scheduler

#include "scheduler/pruners/halving.h"

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
  for (std::size_t i = 1; i < values.size(); ++i)
    place.others.push_back(loss_of(directions_[i], values[i]));
  rung->second.enter(place, !is_nan, reduction_factor_);
  if (is_nan) return Advice::kStop;
  paused_.insert_or_assign(trial, Paused{&rung->second, place});
  return Advice::kPause;
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

std::vector<double> rungs_of(const PrunerSettings& settings, std::int64_t min_resource,
                             std::int64_t reduction_factor) {
  std::vector<double> rungs = settings.early_reports;
  for (std::int64_t epoch = min_resource; epoch < settings.max_epochs; epoch *= reduction_factor)
    rungs.push_back(static_cast<double>(epoch));
  return rungs;
}

}  // namespace detol::inline scheduler

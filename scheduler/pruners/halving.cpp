#include "scheduler/pruners/halving.h"

#include "scheduler/pruners/pruners.h"

namespace detol::inline scheduler {

Halving::Halving(Direction direction, std::span<const double> rungs, std::int64_t reduction_factor)
    : direction_(direction), reduction_factor_(reduction_factor) {
  for (const double epochs : rungs) rungs_[epochs];
}

Advice Halving::judge(TrialId trial, double epochs, double value) {
  const bool is_nan = value != value;
  const auto rung = rungs_.find(epochs);
  if (rung == rungs_.end()) return is_nan ? Advice::kStop : Advice::kContinue;
  const RungPlace place{loss_of(direction_, value), trial};
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

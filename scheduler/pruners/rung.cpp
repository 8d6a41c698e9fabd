#include "scheduler/pruners/rung.h"

#include <algorithm>
#include <utility>

#include "surrogate/pareto.h"

namespace detol::inline scheduler {
void Rung::enter(const RungPlace& place, bool is_paused, std::int64_t reduction_factor) {
  if (is_paused) paused_.insert(place.trial);
  ++size_;
  if (!place.losses.empty()) return enter_among_many(place, reduction_factor);
  rest_.insert(place);
  if (size_ % reduction_factor == 0) {
    raise(*rest_.begin());
  } else if (!best_.empty() && place < *best_.rbegin()) {
    raise(place);
    lower(*best_.rbegin());
  }
}

void Rung::enter_among_many(RungPlace place, std::int64_t reduction_factor) {
  for (RungPlace& other : all_) {
    if (dominates(other.losses, place.losses)) ++place.dominators;
    if (dominates(place.losses, other.losses)) ++other.dominators;
  }
  all_.push_back(std::move(place));
  const auto best = all_.begin() + size_ / reduction_factor;
  std::nth_element(all_.begin(), best, all_.end());
  promotable_.clear();
  for (auto at = all_.begin(); at != best; ++at) {
    if (paused_.contains(at->trial)) promotable_.insert(*at);
  }
}

void Rung::withdraw(const RungPlace& place) {
  paused_.erase(place.trial);
  std::erase_if(promotable_, [&](const RungPlace& one) { return one.trial == place.trial; });
}

void Rung::raise(RungPlace place) {
  rest_.erase(place);
  if (paused_.contains(place.trial)) promotable_.insert(place);
  best_.insert(std::move(place));
}

void Rung::lower(RungPlace place) {
  best_.erase(place);
  promotable_.erase(place);
  rest_.insert(std::move(place));
}

}  // namespace detol::inline scheduler

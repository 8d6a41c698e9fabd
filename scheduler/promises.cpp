#include "scheduler/promises.h"

#include <algorithm>

namespace detol::inline scheduler {

void Promises::set(TrialId trial, const Promise& promise) {
  remove(trial);
  promises_.emplace(trial, promise);
  work_ += promise.work;
  ends_.emplace(end_s(promise), trial);
  devices_ += promise.group_size;
  device_ends_ += promise.group_size * end_s(promise);
}

void Promises::remove(TrialId trial) {
  const auto found = promises_.find(trial);
  if (found == promises_.end()) return;
  leave(trial, found->second);
  work_ -= found->second.work;
  promises_.erase(found);
  if (promises_.empty()) work_ = 0;  // without what rounding left
}

Spent Promises::to_others(TrialId trial, double now_s) {
  while (!ends_.empty() && ends_.begin()->first <= now_s) {
    const TrialId over = ends_.begin()->second;
    leave(over, promises_.at(over));
  }
  Spent sum{.device_s = device_ends_ - devices_ * now_s, .work = work_};
  if (const auto own = promises_.find(trial); own != promises_.end()) {
    sum.work -= own->second.work;
    const double left_s = end_s(own->second) - now_s;
    sum.device_s -= std::max(0.0, left_s * own->second.group_size);
  }
  if (promises_.size() <= promises_.count(trial)) return {};  // no others
  return {.device_s = std::max(0.0, sum.device_s), .work = std::max(0.0, sum.work)};
}

// Takes the trial out of the sums of device time, unless its time is over.
void Promises::leave(TrialId trial, const Promise& promise) {
  if (ends_.erase({end_s(promise), trial}) == 0) return;
  devices_ -= promise.group_size;
  device_ends_ -= promise.group_size * end_s(promise);
  if (ends_.empty()) device_ends_ = 0;
}

}  // namespace detol::inline scheduler

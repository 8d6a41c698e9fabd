// This file decides which free worker has the memory for a trial. Workers may be unequal: a trial
// takes the one with the least memory that is enough, and otherwise waits until one that has enough
// is free. A candidate that needs more than any worker of the run has had is refused.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scheduler/driver.h"

namespace detol::inline scheduler {

// Returns the bytes that the trial's training needs; 0: unknown. They are foreseen once in a run.
double Driver::foreseen_bytes(TrialId trial, const Candidate& candidate) {
  if (!parts_.foreseen_bytes) return 0;
  const auto [known, is_new] = bytes_.try_emplace(trial, 0);
  if (is_new) known->second = parts_.foreseen_bytes(candidate);
  return known->second;
}

// Returns why a candidate is not trained: the study forbids it, or no worker of this run has had
// the memory.
std::optional<StudyConfig::Refused> Driver::refusal_of(TrialId trial, const Candidate& candidate) {
  if (auto refused = parts_.refuse ? parts_.refuse(candidate) : std::nullopt) return refused;
  const double bytes = foreseen_bytes(trial, candidate), most = parts_.pool.most_memory();
  if (bytes <= most) return std::nullopt;
  return StudyConfig::Refused{
      Cause::kTooLarge,
      fmt::format("{:.0f} bytes foreseen, and no worker has more than {:.0f}", bytes, most)};
}

bool Driver::has_memory_for(TrialId trial, const Slot& slot) {
  if (!parts_.foreseen_bytes || std::isinf(slot.memory)) return true;
  if (!bytes_.contains(trial)) {  // an earlier master considered it
    const Decoded candidate = parts_.decode(state_.find(trial)->trial.genome);
    bytes_[trial] = candidate ? parts_.foreseen_bytes(*candidate) : 0;
  }
  return bytes_.at(trial) <= slot.memory;
}

// Returns the free worker that is to take the trial: the last of `slots` that has the memory, which
// note_waiting() has ordered; end() if none has.
Driver::Slots::iterator Driver::slot_for(TrialId trial, Slots& slots) {
  const auto found = std::find_if(slots.rbegin(), slots.rend(),
                                  [&](const Slot& slot) { return has_memory_for(trial, slot); });
  return found == slots.rend() ? slots.end() : std::prev(found.base());
}

// Ends the search where every worker is idle and has too little memory for the trials that wait.
void Driver::close_for_memory(const Slots& idle) {
  int devices = 0;
  for (const Slot& slot : idle) devices += slot.group_size;
  if (closing_ || idle.empty() || devices < parts_.pool.devices() || proposals_.is_at_work())
    return;
  closing_ = {std::nullopt,
              fmt::format("{} trial{} wait{} for a worker with more memory than any has now",
                          without_memory_, without_memory_ == 1 ? "" : "s",
                          without_memory_ == 1 ? "s" : ""),
              std::nullopt};
}

}  // namespace detol::inline scheduler

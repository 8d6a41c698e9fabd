#include "scheduler/trial_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace detol::inline scheduler {

// Returns the bytes that the trial's training needs; 0: unknown. They are foreseen once in a run.
double TrialMemory::foreseen_bytes(TrialId trial, const Candidate& candidate) {
  const auto [known, is_new] = bytes_.try_emplace(trial, 0);
  if (is_new) known->second = parts_.candidates.foreseen_bytes(candidate);
  return known->second;
}

std::optional<StudyConfig::Refused> TrialMemory::refusal_of(TrialId trial,
                                                            const Candidate& candidate) {
  if (auto refused = parts_.candidates.refusal_of(candidate)) return refused;
  const double most = parts_.pool.most_memory();
  if (std::isinf(most)) return std::nullopt;
  const double bytes = foreseen_bytes(trial, candidate);
  if (bytes <= most) return std::nullopt;
  return StudyConfig::Refused{
      Cause::kTooLarge,
      fmt::format("{:.0f} bytes foreseen, and no worker has more than {:.0f}", bytes, most)};
}

bool TrialMemory::has_memory_for(TrialId trial, const Slot& slot) {
  if (std::isinf(slot.memory)) return true;
  if (!bytes_.contains(trial)) {  // an earlier master considered it
    const Decoded candidate = parts_.candidates.decode(state_.find(trial)->trial.genome);
    bytes_[trial] = candidate ? parts_.candidates.foreseen_bytes(*candidate) : 0;
  }
  return bytes_.at(trial) <= slot.memory;
}

TrialMemory::Slots::iterator TrialMemory::slot_for(TrialId trial, Slots& slots) {
  const auto found = std::find_if(slots.rbegin(), slots.rend(),
                                  [&](const Slot& slot) { return has_memory_for(trial, slot); });
  return found == slots.rend() ? slots.end() : std::prev(found.base());
}

std::optional<std::string> TrialMemory::why_all_wait(const Slots& idle) const {
  int devices = 0;
  for (const Slot& slot : idle) devices += slot.group_size;
  if (idle.empty() || devices < parts_.pool.devices()) return std::nullopt;
  return fmt::format("{} trial{} wait{} for a worker with more memory than any has now", waiting_,
                     waiting_ == 1 ? "" : "s", waiting_ == 1 ? "s" : "");
}

}  // namespace detol::inline scheduler

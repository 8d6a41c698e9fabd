#include "scheduler/asking/held_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace detol::inline scheduler {

void HeldTrials::adopt(const StudyState& state, std::span<const Event> events,
                       std::span<const TrialId> own) {
  std::map<TrialId, HeldTrial> last;
  for (const Event& event : events) {
    if (const auto* started = std::get_if<event::Started>(&event))
      last[started->trial] = {started->attempt, started->worker, true, 0};
  }
  for (const TrialId id : state.in_state(TrialState::kRunning)) {
    const HeldTrial& one = last[id];
    const bool is_own = one.caller == self_;
    const bool is_kept = is_own ? std::ranges::find(own, id) != own.end() : may_live(one.caller);
    if (!is_caller(one.caller) || !is_kept) continue;
    held_[id] = one;
    held_[id].since_s = clock_.now_s();
  }
}

void HeldTrials::give(TrialId trial, int attempt, const std::string& caller) {
  held_s();
  held_[trial] = {attempt, caller, false, clock_.now_s()};
}

Result<HeldTrial*> HeldTrials::find(const TrialRecord& record, int attempt) {
  const TrialId trial = record.trial.id;
  const auto ended = ended_.find(trial);
  if (attempt != 0 && ended != ended_.end() && attempt <= ended->second) return nullptr;
  const auto found = held_.find(trial);
  if (found != held_.end() && (attempt == 0 || attempt == found->second.attempt))
    return &found->second;
  if (record.is_over()) return nullptr;
  const bool waits = record.state == TrialState::kWaiting;
  return fail(ErrorCode::kUsage,
              fmt::format("trial {} {}", trial,
                          waits ? "waits to be asked for again: whoever had it was gone"
                          : found != held_.end()
                              ? "was given to another caller meanwhile"
                              : fmt::format("is evaluated by worker {}", record.worker)));
}

void HeldTrials::drop(TrialId trial) {
  held_s();
  held_.erase(trial);
}

void HeldTrials::drop(TrialId trial, int attempt) {
  const auto found = held_.find(trial);
  if (found != held_.end() && found->second.attempt == attempt) drop(trial);
}

void HeldTrials::end(TrialId trial) {
  const auto found = held_.find(trial);
  if (found != held_.end()) ended_[trial] = found->second.attempt;
  drop(trial);
}

std::vector<Lost> HeldTrials::take_from_the_gone() {
  held_s();
  std::vector<Lost> lost;
  std::erase_if(held_, [&](const auto& item) {
    const auto& [trial, one] = item;
    const bool is_lost = one.caller != self_ && !may_live(one.caller);
    if (is_lost)
      lost.push_back({trial, one.attempt, {RequeueCause::kLost, "whoever asked for it is gone"}});
    return is_lost;
  });
  return lost;
}

std::vector<Lost> HeldTrials::take_from(const std::string& caller, std::span<const TrialId> but) {
  held_s();
  std::vector<Lost> lost;
  std::erase_if(held_, [&](const auto& item) {
    const auto& [trial, one] = item;
    const bool is_lost =
        one.caller == caller && one.is_adopted && std::ranges::find(but, trial) == but.end();
    if (is_lost) lost.push_back({trial, one.attempt, {RequeueCause::kLost, kAnswerLost}});
    return is_lost;
  });
  return lost;
}

std::vector<Claim> HeldTrials::claims() const {
  std::vector<Claim> claims;
  for (const auto& [trial, one] : held_) claims.push_back({trial, one.attempt});
  return claims;
}

std::vector<Claim> HeldTrials::own() const {
  std::vector<Claim> claims = this->claims();
  std::erase_if(claims, [&](const Claim& one) { return is_of_another_process(one.trial); });
  return claims;
}

bool HeldTrials::is_of_another_process(TrialId trial) const {
  const auto found = held_.find(trial);
  return found != held_.end() && found->second.caller != self_;
}

double HeldTrials::held_s() {
  const double now_s = clock_.now_s();
  held_s_ += static_cast<double>(held_.size()) * (now_s - held_at_s_);
  held_at_s_ = now_s;
  return held_s_;
}

}  // namespace detol::inline scheduler

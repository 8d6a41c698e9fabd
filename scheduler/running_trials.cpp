#include "scheduler/running_trials.h"

#include <algorithm>

namespace detol::inline scheduler {
namespace {

constexpr double kMostDiskBackOffS = 60;  // while the disk refuses checkpoints

}  // namespace

void RunningTrials::begins(TrialId trial, int worker) {
  leaving_.erase(worker);
  last_report_s_[trial] = parts_.clock.now_s();
}

void RunningTrials::reported(TrialId trial) {
  last_report_s_[trial] = parts_.clock.now_s();
  disk_back_off_s_ = 0;
}

int RunningTrials::full_length(TrialId trial) {
  int& epochs = full_length_[trial];
  if (epochs > 0) return epochs;
  const auto candidate = parts_.candidates.decode(state_.find(trial)->trial.genome);
  return epochs = candidate ? candidate->recipe.epochs : parts_.config.max_epochs;
}

void RunningTrials::back_off(TrialId trial, double seconds) {
  not_before_s_[trial] = parts_.clock.now_s() + seconds;
}

void RunningTrials::back_off_from_disk(TrialId trial) {
  disk_back_off_s_ = std::clamp(2 * disk_back_off_s_, 1.0, kMostDiskBackOffS);
  back_off(trial, disk_back_off_s_);
}

bool RunningTrials::is_due(TrialId trial) const {
  const auto due = not_before_s_.find(trial);
  return due == not_before_s_.end() || parts_.clock.now_s() >= due->second;
}

double RunningTrials::prune(TrialId trial) {
  return prunes_.try_emplace(trial, parts_.clock.now_s()).first->second;
}

void RunningTrials::leaves(TrialId trial, int attempt) {
  if (!parts_.config.command) return;
  if (const auto slot = parts_.pool.slot_after(trial, attempt)) {
    const double by_s = parts_.clock.now_s() + parts_.config.command->grace_s;
    leaving_[slot->worker] = {trial, attempt, by_s};
  }
}

void RunningTrials::has_left(TrialId trial, int attempt) {
  std::erase_if(leaving_, [&](const auto& one) {
    return one.second.trial == trial && one.second.attempt == attempt;
  });
}

bool RunningTrials::is_anybody_leaving() const {
  const double now_s = parts_.clock.now_s();
  return std::ranges::any_of(leaving_,
                             [now_s](const auto& one) { return now_s < one.second.by_s; });
}

bool RunningTrials::is_overlong(TrialId trial) const {
  const double limit = parts_.config.resources.max_trial_duration_s;
  const double quiet_s = parts_.clock.now_s() - last_report_s_.at(trial);
  return limit > 0 && state_.find(trial)->train_s + quiet_s > limit;
}

bool RunningTrials::is_current(TrialId trial, int attempt) const {
  const TrialRecord* entry = state_.find(trial);
  return entry != nullptr && entry->state == TrialState::kRunning && entry->attempt == attempt;
}

bool RunningTrials::is_anything_running_here() const {
  if (state_.running() == 0) return false;
  return std::ranges::any_of(state_.in_state(TrialState::kRunning),
                             [&](TrialId id) { return !parts_.pool.outlives(id); });
}

}  // namespace detol::inline scheduler

#include "scheduler/next_epochs.h"

#include <algorithm>
#include <cmath>

namespace detol::inline scheduler {
namespace {

constexpr double kMargin = 1.05;  // of a forecast: reports are written, machines are shared

}  // namespace

bool NextEpochs::learn(const event::Reported& reported) {
  const TrialRecord* trial = state_.find(reported.trial);
  if (trial == nullptr || reported.train_s <= 0) return false;  // taken over from another study
  const bool is_first = forecast_.is_empty();
  forecast_.learn(reported.trial, reported.work - trial->work, reported.train_s, trial->worker);
  return is_first;
}

void NextEpochs::add(TrialId trial, double epoch_work) {
  epoch_work_[trial] = epoch_work;
  least_epoch_work_ = least_epoch_work_ == 0 ? epoch_work : std::min(least_epoch_work_, epoch_work);
}

NextEpoch NextEpochs::of(TrialId trial) const {
  const TrialRecord& entry = *state_.find(trial);
  return {.trial = trial,
          .work = work_of(trial),
          .done_s = entry.unreported_s,
          .group_size = entry.group_size,
          .worker = entry.worker};
}

NextEpoch NextEpochs::of(TrialId trial, const Slot& slot) const {
  NextEpoch next = of(trial);
  next.group_size = slot.group_size;
  next.worker = slot.name;
  return next;
}

NextEpoch NextEpochs::first_of(TrialId trial, double epoch_work, const Slot& slot) const {
  return {.trial = trial,
          .work = epoch_work * epochs_to_report(0),
          .group_size = slot.group_size,
          .worker = slot.name};
}

NextEpoch NextEpochs::smallest_of(TrialId trial, const Slot& slot) const {
  return first_of(trial, least_epoch_work_, slot);
}

std::optional<double> NextEpochs::device_s(const NextEpoch& next) const {
  const std::optional<double> epoch_s = forecast_.device_s(next.trial, next.work, next.worker);
  if (!epoch_s) return std::nullopt;
  return std::max(0.0, *epoch_s * kMargin - next.done_s);
}

// Returns the epochs that a trial trains from `epochs` to its next report.
double NextEpochs::epochs_to_report(double epochs) const {
  for (const double early : parts_.config.early_reports) {
    if (early > epochs) return early - epochs;
  }
  return std::floor(epochs) + 1 - epochs;
}

// Returns the work of a trial until its next report; 0 if it is unknown.
double NextEpochs::work_of(TrialId trial) const {
  const TrialRecord& entry = *state_.find(trial);
  const double epochs = epochs_to_report(entry.epochs);
  if (entry.epochs > 0) return entry.work / entry.epochs * epochs;
  const auto known = epoch_work_.find(trial);
  return known == epoch_work_.end() ? 0 : known->second * epochs;
}

}  // namespace detol::inline scheduler

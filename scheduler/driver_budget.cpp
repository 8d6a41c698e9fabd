// This file decides how a budget ends a study. A trial starts, and trains its next epoch, only
// where the report of that epoch is foreseen before a limit is reached, besides the reports of the
// epochs that others train now. A proposal without time waits, and others are tried as long
// as the smallest network so far would have time; it starts when a running trial needed less than
// was foreseen, or in a later run with more budget. A worker for which there is nothing is
// released, so that what is left of a budget in device time is for the others. Where a forecast was
// too short, the trial is suspended at its next step when the limit is reached: it becomes PRUNED
// with the reason `budget`, and more budget continues it there.
//
//   cpu-s left 65, trials of 10 and 60 s an epoch report: 10 s fit, then 60 s do not, and that
//   worker ends; the other trains six epochs alone
//
// A budget in trials needs none of this, and a budget in work (FLOPs) knows exactly what an epoch
// takes. Only limits in time use measured speed, and so only they let time decide what is trained.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/driver.h"

namespace detol::inline scheduler {
namespace {

constexpr double kMargin = 1.05;         // of a forecast: reports are written, machines are shared
constexpr double kRounding = 1e-9;       // of sums of work, relative
constexpr double kSuspendPatienceS = 8;  // for workers to checkpoint at the budget's end
constexpr double kRemindEveryS = 1;      // of the suspension
constexpr int kMostWithoutTime = 4;      // proposals in a row that wait for more budget
constexpr double kLeastWaitS = 1e-3;     // of one turn
constexpr double kMostWaitS = 1;

}  // namespace

// Returns the epochs that a trial trains from `epochs` to its next report.
double Driver::epochs_to_report(double epochs) const {
  for (const double early : parts_.config.early_reports) {
    if (early > epochs) return early - epochs;
  }
  return std::floor(epochs) + 1 - epochs;
}

// Returns the work of a trial until its next report; 0 if it is unknown.
double Driver::next_work(TrialId id) const {
  const TrialRecord& trial = *state_.find(id);
  const double epochs = epochs_to_report(trial.epochs);
  if (trial.epochs > 0) return trial.work / trial.epochs * epochs;
  const auto known = epoch_work_.find(id);
  return known == epoch_work_.end() ? 0 : known->second * epochs;
}

Driver::NextEpoch Driver::first_report_of(TrialId id, double epoch_work, const Slot& slot) const {
  return {.trial = id,
          .work = epoch_work * epochs_to_report(0),
          .group_size = slot.group_size,
          .worker = slot.name};
}

// Returns whether a proposal may have time: if even the smallest network so far had none, or too
// many in a row had none, the answer is no.
bool Driver::may_fit(TrialId id, const Slot& slot) {
  return without_time_ <= kMostWithoutTime &&
         has_time_for(first_report_of(id, least_epoch_work_, slot));
}

// Returns whether the workers that are left are better ended, as nothing has time beside what runs:
// of a budget in device time they would use up, idle, what the running trials were promised.
bool Driver::may_release(const std::vector<Slot>& left) const {
  const bool costs = consumption_.cpu_s || consumption_.gpu_s;
  return lacked_time_ && costs && !left.empty() && !proposals_.is_at_work();
}

// Starts the workers again that were released, where there is more time, or nobody is left.
void Driver::hire_again() {
  if (std::exchange(has_released_, false)) parts_.pool.hire();
}

// Returns what is foreseen of a trial that has been asked, until its next report, where it was
// trained last.
Driver::NextEpoch Driver::next_epoch(TrialId id) const {
  const TrialRecord& trial = *state_.find(id);
  return {.trial = id,
          .work = next_work(id),
          .done_s = trial.unreported_s,
          .group_size = trial.group_size,
          .worker = trial.worker};
}

Driver::NextEpoch Driver::next_epoch(TrialId id, const Slot& slot) const {
  NextEpoch next = next_epoch(id);
  next.group_size = slot.group_size;
  next.worker = slot.name;
  return next;
}

// Returns the device time that a trial needs until its next report; nullopt if there is no
// forecast.
std::optional<double> Driver::device_s_of(const NextEpoch& next) const {
  const std::optional<double> epoch_s = forecast_.device_s(next.trial, next.work, next.worker);
  if (!epoch_s) return std::nullopt;
  return std::max(0.0, *epoch_s * kMargin - next.done_s);
}

// Promises a trial that starts or goes on the time until its next report.
void Driver::promise(TrialId id) {
  if (consumption_.is_unlimited()) return;
  const NextEpoch next = next_epoch(id);
  promises_.set(id, {.work = next.work,
                     .device_s = device_s_of(next).value_or(0),
                     .since_s = running_.last_report_s(id),
                     .group_size = next.group_size});
}

// Promises all running trials their times, once there is a first forecast.
void Driver::promise_again() {
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    if (running_.has_begun(id)) promise(id);
  }
}

bool Driver::has_time_for(const NextEpoch& next) {
  if (consumption_.is_unlimited()) return true;
  const Spent now = spent();
  if (consumption_.used(now) >= 1) return false;
  const Spent promised = promises_.to_others(next.trial, parts_.clock.now_s());
  const auto is_within = [](const std::optional<double>& limit, double sum) {
    return !limit || sum <= *limit * (1 + kRounding);
  };
  if (!is_within(consumption_.work, now.work + promised.work + next.work)) return false;
  const std::optional<double> device_s = device_s_of(next);
  if (!device_s) return true;
  const double sum_s = now.device_s + promised.device_s + *device_s;
  return is_within(consumption_.cpu_s, sum_s) && is_within(consumption_.gpu_s, sum_s) &&
         is_within(consumption_.wall_s, now.wall_s + *device_s / next.group_size);
}

// Returns how long to wait for the workers: not beyond the end of the budget, so that trials are
// suspended in time.
double Driver::longest_wait_s() const {
  double left_s = std::min(kMostWaitS, proposals_.seconds_left().value_or(kMostWaitS));
  if (state_.running() == 0) return std::max(kLeastWaitS, left_s);
  const Spent now = spent();
  if (consumption_.wall_s) left_s = std::min(left_s, *consumption_.wall_s - now.wall_s);
  for (const auto& limit : {consumption_.cpu_s, consumption_.gpu_s}) {
    if (limit)
      left_s = std::min(left_s, (*limit - now.device_s) / std::max(1, parts_.pool.devices()));
  }
  return std::max(kLeastWaitS, left_s);
}

void Driver::close_for_budget() {
  if (closing_) return;
  const bool is_used = consumption_.used(spent()) >= 1;
  closing_ = {
      std::nullopt,
      is_used ? "the budget is used up" : "the budget is used up but for less than an epoch",
      EndCause::kBudget};
}

// Suspends what runs when the budget is used up, and gives up on workers that do not answer.
Result<void> Driver::suspend_at_the_end() {
  const bool is_due = !is_stopping() && state_.running() > 0 && consumption_.used(spent()) >= 1;
  if (!is_due) return {};
  const double now_s = parts_.clock.now_s();
  if (!cut_since_s_) cut_since_s_ = now_s;
  if (now_s - *cut_since_s_ >= kSuspendPatienceS) {
    for (TrialId id : state_.in_state(TrialState::kRunning)) {
      parts_.pool.drop(id);
      DETOL_TRY(tell(id, {EndCause::kBudget}));
    }
  } else if (now_s >= next_reminder_s_) {
    next_reminder_s_ = now_s + kRemindEveryS;
    parts_.pool.suspend();
  }
  return {};
}

}  // namespace detol::inline scheduler

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

#include "scheduler/budget_guard.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace detol::inline scheduler {
namespace {

constexpr double kRounding = 1e-9;       // of sums of work, relative
constexpr double kSuspendPatienceS = 8;  // for workers to checkpoint at the budget's end
constexpr double kRemindEveryS = 1;      // of the suspension
constexpr int kMostWithoutTime = 4;      // proposals in a row that wait for more budget
constexpr double kLeastWaitS = 1e-3;     // of one turn
constexpr double kMostWaitS = 1;

}  // namespace

BudgetGuard::BudgetGuard(const DriverParts& parts, const StudyState& state,
                         const RunningTrials& running)
    : parts_(parts), state_(state), running_(running), used_(parts, state), next_(parts, state) {
  replace(parts.budget);
}

void BudgetGuard::replace(const Budget& total) {
  total_ = total;
  consumption_ = total;
  consumption_.trials.reset();
  without_time_ = 0;
}

int BudgetGuard::trials_left() const {
  if (!total_.trials) return std::numeric_limits<int>::max();
  const double left = std::ceil(*total_.trials - state_.spent().trials);
  return static_cast<int>(std::clamp(left, 0.0, 1e9));
}

bool BudgetGuard::is_used_up() const {
  return consumption_.used(used_.spent()) >= 1;
}

bool BudgetGuard::counts_device_time() const {
  return consumption_.cpu_s || consumption_.gpu_s;
}

bool BudgetGuard::has_time_for(TrialId trial) {
  return has_time(next_.of(trial));
}

bool BudgetGuard::has_time_for(TrialId trial, const Slot& slot) {
  return has_time(next_.of(trial, slot));
}

bool BudgetGuard::has_time_for_first(TrialId trial, double epoch_work, const Slot& slot) {
  return has_time(next_.first_of(trial, epoch_work, slot));
}

bool BudgetGuard::may_fit(TrialId trial, const Slot& slot) {
  return without_time_ <= kMostWithoutTime && has_time(next_.smallest_of(trial, slot));
}

// After the first report there is a forecast, and all that run are promised their times.
void BudgetGuard::learn(const event::Reported& reported) {
  if (!next_.learn(reported)) return;
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    if (running_.has_begun(id)) promise(id);
  }
}

void BudgetGuard::promise(TrialId trial) {
  if (consumption_.is_unlimited()) return;
  const NextEpoch next = next_.of(trial);
  promises_.set(trial, {.work = next.work,
                        .device_s = next_.device_s(next).value_or(0),
                        .since_s = running_.last_report_s(trial),
                        .group_size = next.group_size});
}

bool BudgetGuard::has_time(const NextEpoch& next) {
  if (consumption_.is_unlimited()) return true;
  const Spent now = used_.spent();
  if (consumption_.used(now) >= 1) return false;
  const Spent promised = promises_.to_others(next.trial, parts_.clock.now_s());
  const auto is_within = [](const std::optional<double>& limit, double sum) {
    return !limit || sum <= *limit * (1 + kRounding);
  };
  if (!is_within(consumption_.work, now.work + promised.work + next.work)) return false;
  const std::optional<double> device_s = next_.device_s(next);
  if (!device_s) return true;
  const double sum_s = now.device_s + promised.device_s + *device_s;
  return is_within(consumption_.cpu_s, sum_s) && is_within(consumption_.gpu_s, sum_s) &&
         is_within(consumption_.wall_s, now.wall_s + *device_s / next.group_size);
}

double BudgetGuard::longest_wait_s(std::optional<double> most_s) const {
  double left_s = std::min(kMostWaitS, most_s.value_or(kMostWaitS));
  if (state_.running() == 0) return std::max(kLeastWaitS, left_s);
  const Spent now = used_.spent();
  if (consumption_.wall_s) left_s = std::min(left_s, *consumption_.wall_s - now.wall_s);
  for (const auto& limit : {consumption_.cpu_s, consumption_.gpu_s}) {
    if (limit)
      left_s = std::min(left_s, (*limit - now.device_s) / std::max(1, parts_.pool.devices()));
  }
  return std::max(kLeastWaitS, left_s);
}

bool BudgetGuard::suspend() {
  const double now_s = parts_.clock.now_s();
  if (!suspended_since_s_) suspended_since_s_ = now_s;
  if (now_s - *suspended_since_s_ >= kSuspendPatienceS) return true;
  if (now_s >= next_reminder_s_) {
    next_reminder_s_ = now_s + kRemindEveryS;
    parts_.pool.suspend();
  }
  return false;
}

}  // namespace detol::inline scheduler

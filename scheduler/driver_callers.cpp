// This file serves callers, who ask for trials and tell what they are worth: what they may expect,
// the candidates that they bring themselves, and the values that they tell.

#include <algorithm>

#include "scheduler/driver.h"

namespace detol::inline scheduler {

Driver::Supply Driver::supply() const {
  const bool is_used_up = budget_.trials_left() <= 0 && is_nothing_waiting();
  if (closing_ || is_stopping() || exhausted_ || is_used_up) return Supply::kNone;
  const bool is_at_work = proposals_.is_at_work() || refitter_.is_at_work();
  const bool is_later = proposals_.is_dry() || equals_.is_nothing_new() || lacked_time_;
  return !is_at_work && is_later ? Supply::kLater : Supply::kComing;
}

std::string Driver::why_none() const {
  if (is_stopping()) return stopped();
  if (closing_) return closing_->sentence + what_waits_for_budget();
  return exhausted_ ? "the search has nothing more to propose" : "the budget is used up";
}

// Gives slots the candidates that they wish for, as trials of which the searcher hears.
Result<void> Driver::grant_wishes(std::vector<Slot>& slots) {
  const auto wishes =
      std::ranges::stable_partition(slots, [](const Slot& slot) { return !slot.wish; });
  const std::vector<Slot> wishing(wishes.begin(), wishes.end());
  slots.erase(wishes.begin(), wishes.end());
  if (wishing.empty() || proposals_.is_at_work()) return {};
  for (const Proposal& proposal : proposals_.take_ready()) {  // numbered before the wishes
    std::optional<Fact> network;
    DETOL_TRY(record(asked_for(proposal, parts_.decode(proposal.trial.genome), network)));
  }
  for (const Slot& slot : wishing) {
    if (budget_.trials_left() <= 0 || closing_) break;
    const TrialId id = state_.next_id();
    std::vector<Slot> own = {slot};
    DETOL_TRY(consider(
        {.trial = {.id = id, .genome = *slot.wish, .proposer = std::string(kCaller)}}, own));
    const bool is_recorded = state_.next_id() > id;
    if (is_recorded && !own.empty()) outbox_.decline(slot.worker, id);
  }
  return {};
}

Result<void> Driver::handle(const Scored& scored) {
  outbox_.acknowledge(message::EndAck{scored.trial, scored.attempt});
  if (!running_.is_current(scored.trial, scored.attempt)) return {};
  const TrialRecord& trial = *state_.find(scored.trial);
  if (!scored.metrics.empty()) {
    const int length = running_.full_length(scored.trial),
              next = static_cast<int>(trial.epochs) + 1;
    event::Reported event{.trial = scored.trial,
                          .attempt = scored.attempt,
                          .epoch = scored.is_early || length >= kEndless ? next : length,
                          .metrics = {},
                          .train_s = parts_.clock.now_s() - running_.last_report_s(scored.trial)};
    for (const Metric& m : scored.metrics) event.metrics.emplace_back(m.name, m.value);
    complete(event, trial.train_s + event.train_s);
    DETOL_TRY(record(std::move(event)));
    advice_ = Advice::kContinue;
  }
  const EndReason early(EndCause::kPruner, "caller");
  return tell(scored.trial, scored.is_early ? early : EndReason(EndCause::kFullLength));
}

}  // namespace detol::inline scheduler

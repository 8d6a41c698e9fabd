// This file decides what is trained next. A free worker takes, in this order: a waiting trial, a
// paused trial that the pruner promotes, a new candidate of the searcher.
//
// A trial that keeps being lost waits before its next attempt, and the worker that would take it
// stays idle meanwhile: if other trials overtook it, the order of events would depend on time.
//
// With one worker, the refits of the searcher are recorded right before an ask, where no other
// event can come between. Several workers do not wait for refits: finished ones are recorded in
// every iteration.

#include "scheduler/placement.h"

#include <algorithm>
#include <utility>

#include "core/hash.h"
#include "core/rng.h"
#include "scheduler/trial_seed.h"

namespace detol::inline scheduler {
namespace {

constexpr int kMostWithoutMemory = 16;  // trials that wait for a worker with more memory

}  // namespace

std::uint64_t trial_seed(std::uint64_t study_seed, TrialId trial) {
  return Rng(study_seed).split(hash64("trial seed")).split(trial).next();
}

Placement::Placement(const DriverParts& parts, const StudyState& state, RunningTrials& running,
                     Listeners listeners, Recorder& recorder, Outbox& outbox)
    : parts_(parts),
      state_(state),
      running_(running),
      budget_(listeners.budget),
      equals_(listeners.equals),
      source_(listeners.source),
      ending_(listeners.ending),
      recorder_(recorder),
      outbox_(outbox),
      memory_(parts, state) {}

Result<void> Placement::continue_what_the_budget_ended() {
  for (TrialId id : state_.in_state(TrialState::kPruned)) {
    if (state_.find(id)->reason.cause == EndCause::kBudget && budget_.has_time_for(id))
      DETOL_TRY(recorder_.requeue(id, {RequeueCause::kBudgetExtended}));
  }
  return {};
}

// Places trials on the workers that are free, or will be with the commit of their messages: a
// worker hears the verdict that ends a trial and the order of the next one together. Where no more
// are placed, those that the commit has freed are ended.
Result<void> Placement::place() {
  DETOL_TRY(answer_waiting());
  DETOL_ASSIGN(bool releases, fill_free_workers());
  DETOL_TRY(recorder_.commit());
  releases = releases && !outbox_.is_paused();  // else orders still wait for the disk
  has_released_ = has_released_ || releases;
  if (ending_.is_closed() || ending_.is_stopping() || releases) parts_.pool.retire();
  return {};
}

// Returns whether workers are left that are better ended.
Result<bool> Placement::fill_free_workers() {
  if (ending_.is_closed() || ending_.is_stopping() || outbox_.is_paused()) return false;
  source_.collect();
  if (parts_.refits == Refits::kBeside && parts_.pool.workers() > 1) DETOL_TRY(refit());
  lacked_time_ = false;
  std::vector<Slot> slots = outbox_.slots_after_commit();
  if (slots.empty() && state_.running() == 0) hire_again();
  std::ranges::reverse(slots);  // taken from the back
  source_.note_waiting(slots);
  DETOL_TRY(grant_wishes(slots));
  DETOL_TRY(resume_waiting(slots));
  DETOL_TRY(promote(slots));
  for (bool more = true; more && !slots.empty() && !ending_.is_closed();) {
    DETOL_ASSIGN(more, ask_round(slots));
    ending_.look();
  }
  source_.end_turn();
  if (lacked_time_ && state_.running() == 0) ending_.close_for_budget();
  const bool releases = may_release(slots);
  if (memory_.waiting() > 0 && state_.running() == 0) close_for_memory(slots);
  if (slots.empty() && !ending_.is_closed()) source_.prepare(budget_.trials_left());
  return releases;
}

// Returns whether the workers that are left are better ended, as nothing has time beside what runs:
// of a budget in device time they would use up, idle, what the running trials were promised.
bool Placement::may_release(const std::vector<Slot>& left) const {
  return lacked_time_ && budget_.counts_device_time() && !left.empty() && !source_.is_at_work();
}

void Placement::hire_again() {
  if (std::exchange(has_released_, false)) parts_.pool.hire();
}

// Answers the trials that never started and whose equals have ended.
Result<void> Placement::answer_waiting() {
  for (TrialId id : state_.in_state(TrialState::kWaiting)) {
    const TrialRecord& trial = *state_.find(id);
    if (trial.attempt > 0 || equals_.may_repeat(trial.identity)) continue;
    if (const TrialRecord* earlier = state_.answer_for(trial.identity))
      DETOL_TRY(recorder_.answer(id, *earlier));
  }
  return {};
}

// Gives slots the candidates that they wish for, as trials of which the searcher hears.
Result<void> Placement::grant_wishes(std::vector<Slot>& slots) {
  const auto wishes = std::stable_partition(slots.begin(), slots.end(),
                                            [](const Slot& slot) { return !slot.wish; });
  const std::vector<Slot> wishing(wishes, slots.end());
  slots.erase(wishes, slots.end());
  if (wishing.empty() || source_.is_at_work()) return {};
  for (const Proposal& proposal : source_.take_ready()) {  // numbered before the wishes
    Considered one = decode(proposal);
    DETOL_TRY(record(one));
  }
  for (const Slot& slot : wishing) {
    if (budget_.trials_left() <= 0 || ending_.is_closed()) break;
    const TrialId id = state_.next_id();
    std::vector<Slot> own = {slot};
    DETOL_TRY(consider(
        {.trial = {.id = id, .genome = *slot.wish, .proposer = std::string(kCaller)}}, own));
    const bool is_recorded = state_.next_id() > id;
    if (is_recorded && !own.empty()) outbox_.decline(slot.worker, id);
  }
  return {};
}

Result<void> Placement::resume_waiting(std::vector<Slot>& slots) {
  if (slots.empty()) return {};
  memory_.count_again();
  for (TrialId id : state_.in_state(TrialState::kWaiting)) {
    if (slots.empty()) break;
    if (equals_.waits_for_equal(id)) continue;
    const auto slot = memory_.slot_for(id, slots);
    if (slot == slots.end()) {
      memory_.waits();
      continue;
    }
    if (!budget_.has_time_for(id, *slot)) {
      lacked_time_ = true;
      continue;
    }
    if (running_.is_due(id)) DETOL_TRY(start(id, *slot));  // else this worker waits for the trial
    slots.erase(slot);
  }
  return {};
}

Result<void> Placement::promote(std::vector<Slot>& slots) {
  while (!slots.empty()) {
    const std::optional<TrialId> next = parts_.pruner.promotion();
    if (!next) break;
    const auto slot = memory_.slot_for(*next, slots);
    if (slot == slots.end()) {
      memory_.waits();
      break;
    }
    if (!budget_.has_time_for(*next, *slot)) {
      lacked_time_ = true;
      break;
    }
    DETOL_TRY(recorder_.requeue(*next, {RequeueCause::kPromoted}));
    DETOL_TRY(start(*next, *slot));
    slots.erase(slot);
  }
  return {};
}

// Asks for as many trials as there are free workers. Returns false if there is nothing more to ask
// for now.
Result<bool> Placement::ask_round(std::vector<Slot>& slots) {
  const int count = std::min(static_cast<int>(slots.size()), budget_.trials_left());
  if (count <= 0 || memory_.waiting() >= kMostWithoutMemory || equals_.is_nothing_new())
    return false;
  if (state_.running() > 0 && !budget_.may_fit(state_.next_id(), slots.back())) {
    lacked_time_ = true;
    return false;
  }
  DETOL_TRY(refit());
  if (source_.is_refitting() && parts_.pool.workers() <= 1) return false;
  const std::vector<Proposal> proposals = source_.propose(slots, count);
  ending_.set_exhausted(proposals.empty() && state_.running() == 0 && !source_.is_refitting() &&
                        !source_.is_at_work());
  const std::size_t free = slots.size();
  for (const Proposal& proposal : proposals) {
    DETOL_TRY(consider(proposal, slots));
    if (ending_.is_closed()) return false;
  }
  // Workers whose proposal is not trained wait anew: the searcher was not late for them.
  const std::size_t placed = free - slots.size();
  source_.wait_anew(slots, proposals.size() - placed);
  return !proposals.empty();
}

// Records and absorbs the finished refits of the searcher, and begins those that are due.
Result<void> Placement::refit() {
  if (source_.is_at_work()) return {};
  while (std::optional<event::Refit> refit = source_.next_refit())
    DETOL_TRY(recorder_.record(*std::move(refit)));
  return {};
}

Placement::Considered Placement::decode(const Proposal& proposal) const {
  const Trial& trial = proposal.trial;
  Considered one{.trial = trial, .candidate = parts_.candidates.decode(trial.genome)};
  const Decoded& candidate = one.candidate;
  event::Asked& asked = one.asked;
  asked.behind = static_cast<int>(proposal.behind);
  asked.trial = trial.id;
  asked.params = trial.genome.assignments();
  asked.proposer = source_.proposer_of(trial);
  asked.at_s = parts_.clock.wall_s();
  if (candidate && candidate->arch_hash != 0) {
    asked.arch_hash = to_hex(candidate->arch_hash);
    one.network = parts_.candidates.network_fact(*candidate);
  }
  if (const auto cost = candidate ? candidate->cost : candidate.error().cost) {
    asked.network_params = cost->params;
    asked.flops = cost->flops;
  }
  if (candidate) asked.identity = parts_.candidates.identity_of(*candidate);
  return one;
}

Result<void> Placement::record(Considered& one) {
  if (one.network) outbox_.add(*std::move(one.network));
  return recorder_.record(one.asked);
}

Result<void> Placement::consider(const Proposal& proposal, std::vector<Slot>& slots) {
  Considered one = decode(proposal);
  DETOL_ASSIGN(const bool is_settled, settle_untrained(one));
  if (is_settled) return {};
  return start_or_wait(one, slots);
}

// Refuses the trial, tells it the known outcome of an equal trial, or lets it wait for that of a
// running one. Returns whether it did.
Result<bool> Placement::settle_untrained(Considered& one) {
  const TrialId id = one.trial.id;
  const auto refuse = [&](const auto& refused) -> Result<bool> {
    DETOL_TRY(record(one));
    DETOL_TRY(recorder_.tell_failed(id, refused.cause, refused.reason));
    return true;
  };
  if (!one.candidate) return refuse(one.candidate.error());
  const event::Asked& asked = one.asked;
  const std::string identity = identity_of(asked.arch_hash, asked.params);
  const TrialRecord* earlier = state_.answer_for(identity);
  if (earlier != nullptr && !equals_.may_repeat(identity)) {
    const TrialId known = earlier->trial.id;
    DETOL_TRY(record(one));
    DETOL_TRY(recorder_.answer(id, *state_.find(known)));
    return true;
  }
  const bool has_equal = state_.first_open(identity) != nullptr;
  if (has_equal && !equals_.may_repeat(identity) && asked.proposer != kCaller) {
    equals_.found_equal();
    DETOL_TRY(record(one));
    return true;  // it is WAITING
  }
  if (earlier == nullptr && parts_.config.repeats == 0 && parts_.config.inherit == Inherit::kNone &&
      !asked.identity.empty()) {
    DETOL_ASSIGN(const auto known, parts_.candidates.recall(asked, *one.candidate));
    if (known) {
      DETOL_TRY(record(one));
      DETOL_TRY(recorder_.take_over(id, *known));
      return true;
    }
  }
  if (const auto refused = memory_.refusal_of(id, *one.candidate)) return refuse(*refused);
  return false;
}

// If there is no time for its first report, the trial waits for more budget where smaller networks
// may fit, or others run, which may need less than they were promised. Else nothing more starts,
// and the proposal is dropped: a later run with more budget makes it again, as a search that had
// the whole budget from the beginning.
Result<void> Placement::start_or_wait(Considered& one, std::vector<Slot>& slots) {
  const TrialId id = one.trial.id;
  const double work = parts_.candidates.epoch_work(*one.candidate);
  const auto slot = memory_.slot_for(id, slots);
  const bool has_memory = slot != slots.end();
  const Slot& likely = has_memory ? *slot : slots.back();
  const bool has_time = budget_.has_time_for_first(id, work, likely);
  if (!has_time) budget_.lacks_time();
  if (!has_time && state_.running() == 0 && !budget_.may_fit(id, likely)) {
    ending_.close_for_budget();
    return {};
  }
  one.asked.inherits = parts_.candidates.inherit(one.trial, *one.candidate, state_);
  if (one.asked.inherits) one.asked.identity.clear();  // other studies train it from other weights
  DETOL_TRY(record(one));
  budget_.add(id, work);
  running_.set_full_length(id, one.candidate->recipe.epochs);
  if (has_time) budget_.had_time();
  if (!has_memory) memory_.waits();
  if (!has_time || !has_memory) return {};  // it is WAITING
  DETOL_TRY(start(id, *slot));
  slots.erase(slot);
  return {};
}

Result<void> Placement::start(TrialId trial, const Slot& slot) {
  const TrialRecord& entry = *state_.find(trial);
  const int attempt = entry.attempt + 1;
  const TrialRecord* parent = entry.inherits ? state_.find(entry.inherits->trial) : nullptr;
  equals_.found_new();
  message::Train train{.trial = trial,
                       .attempt = attempt,
                       .seed = trial_seed(parts_.config.seed, trial),
                       .acknowledged = entry.epochs,
                       .undecided = ending_.undecided(trial),
                       .micro_batches = entry.micro_batches,
                       .folder = (parts_.folder / std::to_string(trial)).string(),
                       .params = entry.trial.genome.assignments()};
  if (parent != nullptr) {
    train.parent = parent->trial.id;
    train.parent_epochs = entry.inherits->epochs;
    train.parent_params = parent->trial.genome.assignments();
  }
  outbox_.start(slot.worker, std::move(train));
  running_.begins(trial, slot.worker);
  DETOL_TRY(recorder_.record(event::Started{.trial = trial,
                                            .attempt = attempt,
                                            .worker = slot.name,
                                            .at_s = parts_.clock.wall_s(),
                                            .group_size = slot.group_size,
                                            .micro_batches = entry.micro_batches}));
  budget_.promise(trial);
  return {};
}

// Ends the search where every worker is idle and has too little memory for the trials that wait.
void Placement::close_for_memory(const std::vector<Slot>& idle) {
  if (source_.is_at_work()) return;
  if (auto why = memory_.why_all_wait(idle)) ending_.close(*std::move(why));
}

}  // namespace detol::inline scheduler

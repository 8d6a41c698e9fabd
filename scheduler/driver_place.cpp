// This file decides what is trained next. A free worker takes, in this order: a waiting trial, a
// paused trial that the pruner promotes, a new candidate of the searcher.
//
// A trial that keeps being lost waits before its next attempt, and the worker that would take it
// stays idle meanwhile: if other trials overtook it, the order of events would depend on time.
//
// With one worker, the refits of the searcher are recorded right before an ask, where no other
// event can come between. Several workers do not wait for refits: finished ones are recorded in
// every iteration.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/fault.h"
#include "core/hash.h"
#include "core/rng.h"
#include "scheduler/driver.h"
#include "scheduler/trial_seed.h"

namespace detol::inline scheduler {

namespace {

constexpr int kMostWithoutMemory = 16;  // trials that wait for a worker with more memory

}  // namespace

std::uint64_t trial_seed(std::uint64_t study_seed, TrialId trial) {
  return Rng(study_seed).split(hash64("trial seed")).split(trial).next();
}

// Requeues, after a restart, the trials whose worker is gone and those that get another chance by a
// larger budget or --retry-failed.
Result<void> Driver::adopt() {
  const std::vector<Claim> claims = parts_.pool.claims();
  for (TrialId id : state_.in_state(TrialState::kRunning)) {
    const bool is_claimed = std::ranges::any_of(claims, [&](const Claim& c) {
      return c.trial == id && running_.is_current(id, c.attempt);
    });
    if (!is_claimed) {
      DETOL_TRY(requeue(id, {RequeueCause::kWorkerGone}));
      continue;
    }
    running_.continues(id, used_.began_s());
    budget_.promise(id);
  }
  DETOL_TRY(continue_what_the_budget_ended());
  for (TrialId id : state_.in_state(TrialState::kFail)) {
    if (parts_.retry_failed && may_differ_when_retried(*state_.find(id)))
      DETOL_TRY(requeue(id, {RequeueCause::kRetried}));
  }
  look_for_an_end();
  return commit();
}

// Requeues the trials that the budget ended, as far as there is time for them now.
Result<void> Driver::continue_what_the_budget_ended() {
  for (TrialId id : state_.in_state(TrialState::kPruned)) {
    if (state_.find(id)->reason.cause == EndCause::kBudget && budget_.has_time_for(id))
      DETOL_TRY(requeue(id, {RequeueCause::kBudgetExtended}));
  }
  return {};
}

// Places trials on the workers that are free, or will be with the commit of their messages: a
// worker hears the verdict that ends a trial and the order of the next one together. Where no more
// are placed, those that the commit has freed are ended.
Result<void> Driver::place() {
  releases_ = false;
  DETOL_TRY(answer_waiting());
  DETOL_TRY(fill_free_workers());
  DETOL_TRY(commit());
  releases_ = releases_ && !outbox_.is_paused();  // else orders still wait for the disk
  has_released_ = has_released_ || releases_;
  if (closing_ || is_stopping() || releases_) parts_.pool.retire();
  return {};
}

Result<void> Driver::fill_free_workers() {
  if (closing_ || is_stopping() || outbox_.is_paused()) return {};
  proposals_.collect();
  if (parts_.refits == Refits::kBeside && parts_.pool.workers() > 1) DETOL_TRY(refit());
  lacked_time_ = false;
  std::vector<Slot> slots = outbox_.slots_after_commit();
  if (slots.empty() && state_.running() == 0) hire_again();
  std::ranges::reverse(slots);  // taken from the back
  note_waiting(slots);
  DETOL_TRY(grant_wishes(slots));
  DETOL_TRY(resume_waiting(slots));
  DETOL_TRY(promote(slots));
  for (bool more = true; more && !slots.empty() && !closing_;) {
    DETOL_ASSIGN(more, ask_round(slots));
    look_for_an_end();
  }
  if (!proposals_.is_at_work()) waiting_since_s_.clear();
  if (lacked_time_ && state_.running() == 0) close_for_budget();
  releases_ = may_release(slots);
  if (memory_.waiting() > 0 && state_.running() == 0) close_for_memory(slots);
  const bool may_prepare = slots.empty() && !closing_ && state_.next_id() >= parts_.initial.size();
  if (may_prepare) proposals_.prepare(demand_of(slots, 0), budget_.trials_left());
  return {};
}

// Returns whether the workers that are left are better ended, as nothing has time beside what runs:
// of a budget in device time they would use up, idle, what the running trials were promised.
bool Driver::may_release(const std::vector<Slot>& left) const {
  return lacked_time_ && budget_.counts_device_time() && !left.empty() && !proposals_.is_at_work();
}

// Starts the workers again that were released, where there is more time, or nobody is left.
void Driver::hire_again() {
  if (std::exchange(has_released_, false)) parts_.pool.hire();
}

// Notes since when each free worker waits for a proposal, and lets those with the least memory, and
// of these those that have waited longest, be taken first.
void Driver::note_waiting(std::vector<Slot>& slots) {
  std::map<int, double> since_s;
  for (const Slot& slot : slots) {
    const auto known = waiting_since_s_.find(slot.worker);
    since_s[slot.worker] = known == waiting_since_s_.end() ? parts_.clock.now_s() : known->second;
  }
  waiting_since_s_ = std::move(since_s);
  if (!slots.empty()) group_size_ = slots.front().group_size;
  std::ranges::stable_sort(slots, std::ranges::greater(), [&](const Slot& slot) {
    return std::pair(slot.memory, waiting_since_s_.at(slot.worker));
  });
}

Demand Driver::demand_of(const std::vector<Slot>& slots, int wanted) const {
  const Spent used = used_.spent();
  Demand demand{
      .next_id = state_.next_id(), .wanted = wanted, .workers = std::max(1, parts_.pool.workers())};
  if (used.trials > 0) demand.trial_s = used.device_s / used.trials / group_size_;
  const double late_s = parts_.clock.now_s() - patience_s(demand.trial_s);
  const auto late = std::ranges::count_if(
      slots, [&](const Slot& slot) { return waiting_since_s_.at(slot.worker) <= late_s; });
  if (demand.workers > 1) demand.late = std::min(wanted, static_cast<int>(late));
  return demand;
}

Result<void> Driver::resume_waiting(std::vector<Slot>& slots) {
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

Result<void> Driver::promote(std::vector<Slot>& slots) {
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
    DETOL_TRY(requeue(*next, {RequeueCause::kPromoted}));
    DETOL_TRY(start(*next, *slot));
    slots.erase(slot);
  }
  return {};
}

// Asks for as many trials as there are free workers. Returns false if there is nothing more to ask
// for now.
Result<bool> Driver::ask_round(std::vector<Slot>& slots) {
  const int count = std::min(static_cast<int>(slots.size()), budget_.trials_left());
  if (count <= 0 || memory_.waiting() >= kMostWithoutMemory || equals_.is_nothing_new())
    return false;
  if (state_.running() > 0 && !budget_.may_fit(state_.next_id(), slots.back())) {
    lacked_time_ = true;
    return false;
  }
  DETOL_TRY(refit());
  if (refitter_.is_at_work() && parts_.pool.workers() <= 1) return false;
  const std::vector<Proposal> proposals = propose(slots, count);
  exhausted_ = proposals.empty() && state_.running() == 0 && !refitter_.is_at_work() &&
               !proposals_.is_at_work();
  const std::size_t free = slots.size();
  for (const Proposal& proposal : proposals) {
    DETOL_TRY(consider(proposal, slots));
    if (closing_) return false;
  }
  // Workers whose proposal is not trained wait anew: the searcher was not late for them.
  const std::size_t placed = free - slots.size();
  for (std::size_t i = 0; i < std::min(proposals.size() - placed, slots.size()); ++i)
    waiting_since_s_.at(slots[slots.size() - 1 - i].worker) = parts_.clock.now_s();
  return !proposals.empty();
}

// Records and absorbs the finished refits of the searcher, and begins those that are due.
Result<void> Driver::refit() {
  if (proposals_.is_at_work()) return {};
  while (std::optional<Refit> refit = refitter_.next()) {
    fault_or_throw("master.refit");
    prepared_ = std::move(refit->prepared);
    DETOL_TRY(record(event::Refit{.model = std::move(refit->model),
                                  .version = refit->version,
                                  .observations = refit->observations,
                                  .parameters = std::move(refit->parameters),
                                  .at_s = parts_.clock.wall_s()}));
  }
  return {};
}

std::vector<Proposal> Driver::propose(const std::vector<Slot>& slots, int count) {
  std::vector<Proposal> initial;
  TrialId id = state_.next_id();
  for (; id < parts_.initial.size() && static_cast<int>(initial.size()) < count; ++id)
    initial.push_back({{.id = id, .genome = parts_.initial[id]}});
  return initial.empty() ? proposals_.next(demand_of(slots, count)) : initial;
}

std::string Driver::proposer_of(const Trial& trial) const {
  if (trial.id < parts_.initial.size()) return "initial";
  return trial.proposer.empty() ? parts_.config.algorithm.name : trial.proposer;
}

// Returns how a proposal is recorded, with its network's fact if that is new.
event::Asked Driver::asked_for(const Proposal& proposal, const Decoded& candidate,
                               std::optional<Fact>& network) const {
  const Trial& trial = proposal.trial;
  event::Asked asked;
  asked.behind = static_cast<int>(proposal.behind);
  asked.trial = trial.id;
  asked.params = trial.genome.assignments();
  asked.proposer = proposer_of(trial);
  asked.at_s = parts_.clock.wall_s();
  if (candidate && candidate->arch_hash != 0) {
    asked.arch_hash = to_hex(candidate->arch_hash);
    if (parts_.network_fact) network = parts_.network_fact(*candidate);
  }
  if (const auto cost = candidate ? candidate->cost : candidate.error().cost) {
    asked.network_params = cost->params;
    asked.flops = cost->flops;
  }
  if (candidate && parts_.identify) asked.identity = parts_.identify(*candidate);
  return asked;
}

// Refuses the trial, tells it the known outcome of an equal trial, lets it wait for that of a
// running one, or starts it. If there is no time for its first report, it waits for more budget
// where smaller networks may fit, or others run, which may need less than they were promised. Else
// nothing more starts, and the proposal is dropped: a later run with more budget makes it again, as
// a search that had the whole budget from the beginning.
Result<void> Driver::consider(const Proposal& proposal, std::vector<Slot>& slots) {
  const Trial& trial = proposal.trial;
  const Decoded candidate = parts_.decode(trial.genome);
  std::optional<Fact> network;
  event::Asked asked = asked_for(proposal, candidate, network);
  const auto record_asked = [&] {
    if (network) outbox_.add(*std::move(network));
    return record(asked);
  };
  if (!candidate) {
    DETOL_TRY(record_asked());
    return tell_failed(trial.id, candidate.error().cause, candidate.error().reason);
  }
  const std::string identity = identity_of(asked.arch_hash, asked.params);
  const TrialRecord* earlier = state_.answer_for(identity);
  if (earlier != nullptr && !equals_.may_repeat(identity)) {
    const TrialId known = earlier->trial.id;
    DETOL_TRY(record_asked());
    return answer(trial.id, *state_.find(known));
  }
  const bool has_equal = state_.first_open(identity) != nullptr;
  if (has_equal && !equals_.may_repeat(identity) && asked.proposer != kCaller) {
    equals_.found_equal();
    return record_asked();  // it is WAITING
  }
  if (earlier == nullptr && parts_.config.repeats == 0 && parts_.recall && !parts_.inherit &&
      !asked.identity.empty()) {
    DETOL_ASSIGN(const auto known, parts_.recall(asked, *candidate));
    if (known) {
      DETOL_TRY(record_asked());
      return take_over(trial.id, *known);
    }
  }
  if (const auto refused = memory_.refusal_of(trial.id, *candidate)) {
    DETOL_TRY(record_asked());
    return tell_failed(trial.id, refused->cause, refused->reason);
  }
  const double work = parts_.epoch_work ? parts_.epoch_work(*candidate) : 0;
  const auto slot = memory_.slot_for(trial.id, slots);
  const bool has_memory = slot != slots.end();
  const Slot& likely = has_memory ? *slot : slots.back();
  const bool has_time = budget_.has_time_for_first(trial.id, work, likely);
  if (!has_time) budget_.lacks_time();
  if (!has_time && state_.running() == 0 && !budget_.may_fit(trial.id, likely)) {
    close_for_budget();
    return {};
  }
  if (parts_.inherit) asked.inherits = parts_.inherit(trial, *candidate, state_);
  if (asked.inherits) asked.identity.clear();  // other studies train it from other weights
  DETOL_TRY(record_asked());
  budget_.add(trial.id, work);
  running_.set_full_length(trial.id, candidate->recipe.epochs);
  if (has_time) budget_.had_time();
  if (!has_memory) memory_.waits();
  if (!has_time || !has_memory) return {};  // it is WAITING
  DETOL_TRY(start(trial.id, *slot));
  slots.erase(slot);
  return {};
}

Result<void> Driver::start(TrialId trial, const Slot& slot) {
  const TrialRecord& entry = *state_.find(trial);
  const int attempt = entry.attempt + 1;
  const TrialRecord* parent = entry.inherits ? state_.find(entry.inherits->trial) : nullptr;
  equals_.found_new();
  message::Train train{.trial = trial,
                       .attempt = attempt,
                       .seed = trial_seed(parts_.config.seed, trial),
                       .acknowledged = entry.epochs,
                       .undecided = undecided(trial),
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
  DETOL_TRY(record(event::Started{.trial = trial,
                                  .attempt = attempt,
                                  .worker = slot.name,
                                  .at_s = parts_.clock.wall_s(),
                                  .group_size = slot.group_size,
                                  .micro_batches = entry.micro_batches}));
  budget_.promise(trial);
  return {};
}

}  // namespace detol::inline scheduler

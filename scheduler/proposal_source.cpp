#include "scheduler/proposal_source.h"

#include <algorithm>
#include <utility>

#include "core/fault.h"

namespace detol::inline scheduler {
namespace {

// An ask that has ended ends the pool's wait.
AskSettings asks_of(const DriverParts& parts) {
  AskSettings settings = parts.asks;
  settings.wake = [&pool = parts.pool] { pool.wake(); };
  return settings;
}

}  // namespace

ProposalSource::ProposalSource(const DriverParts& parts, const StudyState& state,
                               const UsedTime& used)
    : parts_(parts),
      state_(state),
      used_(used),
      refitter_(parts.searcher, parts.refits, [&pool = parts.pool] { pool.wake(); }),
      proposals_(parts.searcher, parts.clock, asks_of(parts)) {}

void ProposalSource::expect(const event::Asked& asked) {
  proposals_.expect(state_.find(asked.trial)->trial);
}

void ProposalSource::tell(const event::Told& told) {
  const TrialRecord& trial = *state_.find(told.trial);
  if (state_.teaches(told)) proposals_.tell(trial.trial, *trial.outcome);
  refitter_.retry_failed_job();
}

// The ledger keeps all of a refit except `prepared`.
void ProposalSource::absorb(const event::Refit& refit) {
  proposals_.absorb({.model = refit.model,
                     .version = refit.version,
                     .observations = refit.observations,
                     .parameters = refit.parameters,
                     .prepared = std::exchange(prepared_, nullptr)});
}

std::optional<event::Refit> ProposalSource::next_refit() {
  std::optional<Refit> refit = refitter_.next();
  if (!refit) return std::nullopt;
  fault_or_throw("master.refit");
  prepared_ = std::move(refit->prepared);
  return event::Refit{.model = std::move(refit->model),
                      .version = refit->version,
                      .observations = refit->observations,
                      .parameters = std::move(refit->parameters),
                      .at_s = parts_.clock.wall_s()};
}

void ProposalSource::note_waiting(std::vector<Slot>& slots) {
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

void ProposalSource::wait_anew(const std::vector<Slot>& slots, std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, slots.size()); ++i)
    waiting_since_s_.at(slots[slots.size() - 1 - i].worker) = parts_.clock.now_s();
}

std::vector<Proposal> ProposalSource::propose(const std::vector<Slot>& slots, int count) {
  std::vector<Proposal> initial;
  TrialId id = state_.next_id();
  for (; id < parts_.initial.size() && static_cast<int>(initial.size()) < count; ++id)
    initial.push_back({{.id = id, .genome = parts_.initial[id]}});
  return initial.empty() ? proposals_.next(demand_of(slots, count)) : initial;
}

void ProposalSource::end_turn() {
  if (!proposals_.is_at_work()) waiting_since_s_.clear();
}

void ProposalSource::prepare(int most) {
  if (state_.next_id() >= parts_.initial.size()) proposals_.prepare(demand_of({}, 0), most);
}

std::string ProposalSource::proposer_of(const Trial& trial) const {
  if (trial.id < parts_.initial.size()) return "initial";
  return trial.proposer.empty() ? parts_.config.algorithm.name : trial.proposer;
}

Demand ProposalSource::demand_of(const std::vector<Slot>& slots, int wanted) const {
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

}  // namespace detol::inline scheduler

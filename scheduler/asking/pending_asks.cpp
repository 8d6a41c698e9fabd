#include "scheduler/asking/pending_asks.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace detol::inline scheduler {
namespace {

bool has_slot(const std::vector<int>& slots, int slot) {
  return std::ranges::find(slots, slot) != slots.end();
}

}  // namespace

void PendingAsks::add(Ask ask, Answer<AskAnswer> answer) {
  asks_.push_back({.ask = std::move(ask), .answer = std::move(answer)});
  Pending& pending = asks_.back();
  if (pending.ask.wish) pending.ask.count = 1;
  for (int i = 0; i < pending.ask.count; ++i) pending.slots.push_back(next_slot_++);
  if (pending.slots.empty()) this->answer(std::prev(asks_.end()));
}

std::vector<Slot> PendingAsks::slots() const {
  std::vector<Slot> slots;
  for (const Pending& pending : asks_) {
    for (const int slot : pending.slots)
      slots.push_back({.worker = slot, .name = pending.ask.caller, .wish = pending.ask.wish});
  }
  return slots;
}

const std::string* PendingAsks::caller_of(int slot) const {
  const auto asker = std::ranges::find_if(
      asks_, [slot](const Pending& pending) { return has_slot(pending.slots, slot); });
  return asker == asks_.end() ? nullptr : &asker->ask.caller;
}

void PendingAsks::give(int slot, AskedTrial trial) {
  const auto ask = std::ranges::find_if(
      asks_, [slot](const Pending& pending) { return has_slot(pending.slots, slot); });
  if (ask == asks_.end()) return;
  std::erase(ask->slots, slot);
  ask->got.trials.push_back(std::move(trial));
  if (ask->slots.empty()) answer(ask);
}

void PendingAsks::answer(Asks::iterator ask) {
  Pending done = std::move(*ask);
  asks_.erase(ask);
  done.answer(std::move(done.got));
}

void PendingAsks::settle(const std::optional<std::string>& why_none) {
  for (auto ask = asks_.begin(); ask != asks_.end();) {
    const auto next = std::next(ask);
    if (why_none) ask->got.none = *why_none;
    if (why_none || !ask->ask.waits || !ask->got.trials.empty()) answer(ask);
    ask = next;
  }
}

void PendingAsks::fail(const Error& error) {
  for (Pending& pending : std::exchange(asks_, {})) pending.answer(tl::unexpected(error));
}

}  // namespace detol::inline scheduler

#pragma once

// PendingAsks: the asks that wait for trials. Each trial that an ask still wants is a slot of the
// pool. Not thread-safe.

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/asking/calls.h"
#include "scheduler/pool.h"

namespace detol::inline scheduler {

class PendingAsks {
 public:
  static constexpr int kFirstSlot = 1'000'000'000;  // numbers of slots; workers have smaller ones

  // Answers at once an ask for no trial. An ask with a wish gets one trial.
  void add(Ask ask, Answer<AskAnswer> answer);

  bool is_empty() const { return asks_.empty(); }
  std::vector<Slot> slots() const;

  // Returns who wants a slot's trial; nullptr if the ask was answered meanwhile.
  const std::string* caller_of(int slot) const;

  // Gives a slot its trial, and answers the ask that has all of its trials. A slot whose ask was
  // answered gets nothing.
  void give(int slot, AskedTrial trial);

  // Answers the asks that get no more for now: with `why_none` all of them, without it those that
  // have a trial or do not wait.
  void settle(const std::optional<std::string>& why_none);
  void fail(const Error& error);

 private:
  struct Pending {
    Ask ask;
    Answer<AskAnswer> answer;
    std::vector<int> slots = {};  // for trials that it has not got yet
    AskAnswer got = {};
  };
  using Asks = std::list<Pending>;

  void answer(Asks::iterator ask);

  Asks asks_;
  int next_slot_ = kFirstSlot;
};

}  // namespace detol::inline scheduler

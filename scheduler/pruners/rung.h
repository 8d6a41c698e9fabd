#pragma once

// Rung: the values that trials left at one number of epochs, and which of the paused ones are among
// the best 1/reduction_factor. With several objectives a trial is better that fewer others dominate
// (Fonseca and Fleming, 1993, "Genetic Algorithms for Multiobjective Optimization", ICGA), among
// equals by the first objective. O(log n) per trial; with several objectives O(n log n). Not
// thread-safe.

#include <cstdint>
#include <set>
#include <unordered_set>
#include <vector>

#include "encodings/space/trial.h"

namespace detol::inline scheduler {

struct RungPlace {
  double loss = 0;  // of the first objective
  TrialId trial = 0;
  std::vector<double> losses = {};  // of all objectives; empty: there is only one
  std::size_t dominators = 0;       // trials of the rung that dominate this one; counted by Rung

  bool operator<(const RungPlace& other) const {
    if (dominators != other.dominators) return dominators < other.dominators;
    return loss != other.loss ? loss < other.loss : trial < other.trial;
  }
};

class Rung {
 public:
  void enter(const RungPlace& place, bool is_paused, std::int64_t reduction_factor);
  void withdraw(const RungPlace& place);

  // Returns the paused trials among the best 1/reduction_factor, in the order of their values.
  const std::set<RungPlace>& promotable() const { return promotable_; }

 private:
  void enter_among_many(RungPlace place, std::int64_t reduction_factor);
  void raise(RungPlace place);
  void lower(RungPlace place);

  std::int64_t size_ = 0;
  std::set<RungPlace> best_;  // the best floor(size_ / reduction_factor) places
  std::set<RungPlace> rest_;
  std::vector<RungPlace> all_;  // with several objectives, instead of best_ and rest_
  std::unordered_set<TrialId> paused_;
  std::set<RungPlace> promotable_;
};

}  // namespace detol::inline scheduler

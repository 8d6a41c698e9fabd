#pragma once

// Rung: the values that trials left at one number of epochs, and which of the paused ones are among
// the best 1/reduction_factor. O(log n) per trial. Not thread-safe.

#include <cstdint>
#include <set>

#include "encodings/space/trial.h"

namespace detol::inline scheduler {

struct RungPlace {
  double loss;
  TrialId trial;

  bool operator<(const RungPlace& other) const {
    return loss != other.loss ? loss < other.loss : trial < other.trial;
  }
};

class Rung {
 public:
  void enter(const RungPlace& place, bool is_paused, std::int64_t reduction_factor) {
    if (is_paused) paused_.insert(place);
    rest_.insert(place);
    ++size_;
    if (size_ % reduction_factor == 0) {
      raise(*rest_.begin());
    } else if (!best_.empty() && place < *best_.rbegin()) {
      raise(place);
      lower(*best_.rbegin());
    }
  }

  void withdraw(const RungPlace& place) {
    paused_.erase(place);
    promotable_.erase(place);
  }

  // Returns the paused trials among the best 1/reduction_factor, in the order of their values.
  const std::set<RungPlace>& promotable() const { return promotable_; }

 private:
  void raise(RungPlace place) {
    rest_.erase(place);
    best_.insert(place);
    if (paused_.contains(place)) promotable_.insert(place);
  }

  void lower(RungPlace place) {
    best_.erase(place);
    rest_.insert(place);
    promotable_.erase(place);
  }

  std::int64_t size_ = 0;
  std::set<RungPlace> best_;  // the best floor(size_ / reduction_factor) places
  std::set<RungPlace> rest_;
  std::set<RungPlace> paused_;
  std::set<RungPlace> promotable_;
};

}  // namespace detol::inline scheduler

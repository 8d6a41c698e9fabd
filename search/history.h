#pragma once

// What a searcher was told, in the order of the first tells, and how much of it its state reflects:
// a state that is folded over the tells when somebody asks. A trial that is told again keeps its
// place; if it was folded, everything is folded again.

#include <unordered_map>
#include <utility>
#include <vector>

#include "encodings/space/trial.h"

namespace detol {

template <typename Entry>
class History {
 public:
  // True if what was folded so far is wrong now: the caller begins with an empty state.
  bool tell(TrialId trial, Entry entry) {
    const auto [at, is_new] = places_.try_emplace(trial, entries_.size());
    if (is_new) {
      entries_.push_back(std::move(entry));
      return false;
    }
    entries_[at->second] = std::move(entry);
    if (at->second >= folded_) return false;
    folded_ = 0;
    return true;
  }

  // Calls fold(place) for each entry that has not been folded, in order.
  template <typename Fold>
  void catch_up(const Fold& fold) {
    for (; folded_ < entries_.size(); ++folded_) fold(folded_);
  }

  std::size_t size() const { return entries_.size(); }
  const Entry& operator[](std::size_t place) const { return entries_[place]; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<TrialId, std::size_t> places_;
  std::size_t folded_ = 0;
};

}  // namespace detol

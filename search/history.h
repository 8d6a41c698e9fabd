#pragma once

// History: the told trials of a searcher, in the order of their first tells, and how many of them
// its state includes. The state is folded over the tells at the next ask. A trial that is told
// again keeps its place; if the state includes it, everything is folded again.

#include <unordered_map>
#include <utility>
#include <vector>

#include "encodings/space/trial.h"

namespace detol::inline search {

template <typename Entry>
class History {
 public:
  // Returns true if the state includes an earlier outcome of this trial: the caller then begins
  // with an empty state.
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

}  // namespace detol::inline search

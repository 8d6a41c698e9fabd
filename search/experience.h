#pragma once

// Experience: every told trial as an episode, in the order of the first tells. StateFold: a state
// that is updated by one batch of episodes after the other. With both, a searcher that learns step
// by step stays a function of its tells: a trial that is told again keeps its place, and the
// updates since then are repeated.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/rng.h"
#include "encodings/space/space.h"
#include "encodings/space/trial.h"
#include "search/decisions.h"
#include "search/outcome_value.h"
#include "search/searcher.h"

namespace detol::inline search {

struct Episode {
  std::uint64_t identity;  // of the candidate
  std::vector<Decision> decisions;
  RankedLoss loss;
};

class Experience {
 public:
  Experience(const Space& space, std::size_t bins, Direction direction)
      : space_(space), decisions_(space, bins), direction_(direction) {}

  // Returns the place of a trial whose earlier outcome this one replaces; nullopt if the trial is
  // new or its outcome is the same.
  std::optional<std::size_t> tell(const Trial& trial, const Outcome& outcome);

  // From now on unseen() avoids this candidate.
  void expect(const Trial& trial) { known_.insert(space_.identity(trial.genome)); }

  const std::vector<Episode>& episodes() const { return episodes_; }

  // Returns the best trials of each source, and as many others, as episodes in random order. Their
  // losses are the shares of the source's trials that are better, all without a violation.
  std::vector<Episode> of_sources(const SearcherSettings& settings) const;
  const Decisions& decisions() const { return decisions_; }

  // Calls `sample` until its genome was neither told nor expected before, a few times at most; then
  // mutates it.
  Genome unseen(const std::function<Genome()>& sample, Rng& rng) const;

 private:
  bool is_known(const Genome& genome) const { return known_.contains(space_.identity(genome)); }

  const Space space_;
  const Decisions decisions_;
  const Direction direction_;
  std::vector<Episode> episodes_;
  std::unordered_map<TrialId, std::size_t> places_;  // in episodes_
  std::unordered_set<std::uint64_t> known_;          // identities of all that was told or expected
};

// StateFold computes the state after n tells: begin(start), then update(state, from, to) for one
// batch of tells after the other. In a long search a new state begins after every kHorizon tells,
// with the last kOverlap of them, so that a retell or a resume repeats at most kHorizon + kOverlap
// tells, and about kSnapshot after a recent retell.
template <typename State>
class StateFold {
 public:
  using Begin = std::function<State(std::size_t start)>;
  using Update = std::function<void(State& state, std::size_t from, std::size_t to)>;

  StateFold(std::size_t batch, Begin begin, Update update)
      : batch_(batch), begin_(std::move(begin)), update_(std::move(update)) {}

  // Returns the state after all whole batches of the first `told` tells.
  const State& after(std::size_t told) {
    const std::size_t start =
        told < kHorizon + kOverlap ? 0 : (told - kOverlap) / kHorizon * kHorizon;
    if (snapshots_.empty() || start != start_) {
      start_ = start;
      snapshots_.clear();
      snapshots_.push_back({start, begin_(start)});
    }
    while (snapshots_.back().told + batch_ <= told) advance();
    return snapshots_.back().state;
  }

  // Drops the states that include the trial at `place`.
  void forget(std::size_t place) {
    while (!snapshots_.empty() && (place < start_ || snapshots_.back().told > place))
      snapshots_.pop_back();
  }

 private:
  static constexpr std::size_t kHorizon = 1024, kOverlap = 256, kSnapshot = 128;
  struct Snapshot {
    std::size_t told;
    State state;
  };

  void advance() {
    const std::size_t count = snapshots_.size();
    const bool keep =
        count < 2 || snapshots_[count - 1].told >= snapshots_[count - 2].told + kSnapshot;
    if (keep) snapshots_.push_back(snapshots_.back());
    Snapshot& last = snapshots_.back();
    update_(last.state, last.told, last.told + batch_);
    last.told += batch_;
  }

  const std::size_t batch_;
  const Begin begin_;
  const Update update_;
  std::size_t start_ = 0;
  std::vector<Snapshot> snapshots_;  // the last one grows, the others stay
};

}  // namespace detol::inline search

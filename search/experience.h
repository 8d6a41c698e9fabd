#pragma once

// Experience: every trial that was told, in the order of their first tells, and States that are
// folded over it. With them a searcher that learns step by step stays a function of its tells:
// a trial that is told again keeps its place, and what was learned since is learned again.

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

namespace detol {

struct Told {
  std::uint64_t identity;  // of the candidate
  std::vector<Decision> decisions;
  double loss;  // less is better; infinity: failed, or not a number
};

class Experience {
 public:
  Experience(const Space& space, std::size_t bins, Direction direction)
      : space_(space), decisions_(space, bins), direction_(direction) {}

  // The place of a trial whose earlier outcome this one replaces; nullopt if nothing that was
  // learned is wrong now.
  std::optional<std::size_t> tell(const Trial& trial, const Outcome& outcome);

  const std::vector<Told>& told() const { return told_; }
  const Decisions& decisions() const { return decisions_; }

  // What `speak` says, until it is something that was not told before; after kTries sentences
  // a mutant of the last.
  Genome unheard(const std::function<Genome()>& speak, Rng& rng) const;

 private:
  double loss_of(const Outcome& outcome) const;
  bool is_known(const Genome& genome) const { return known_.contains(space_.identity(genome)); }

  const Space space_;
  const Decisions decisions_;
  const Direction direction_;
  std::vector<Told> told_;
  std::unordered_map<TrialId, std::size_t> places_;  // in told_
  std::unordered_set<std::uint64_t> known_;          // identities of all that was told
};

// The state after n tells: begin(start), then study(state, from, to) for one batch of tells after
// the other. In a long search a new state begins after every kHorizon tells, with the last
// kOverlap of them: what a retell or a resume must learn again is at most kHorizon + kOverlap
// tells, and about kSnapshot where the retell is a recent one.
template <typename State>
class Learning {
 public:
  using Begin = std::function<State(std::size_t start)>;
  using Study = std::function<void(State& state, std::size_t from, std::size_t to)>;

  Learning(std::size_t batch, Begin begin, Study study)
      : batch_(batch), begin_(std::move(begin)), study_(std::move(study)) {}

  // The state after all whole batches of the first `told` tells.
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

  // Drops what was learned from the trial at `place`.
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
    study_(last.state, last.told, last.told + batch_);
    last.told += batch_;
  }

  const std::size_t batch_;
  const Begin begin_;
  const Study study_;
  std::size_t start_ = 0;
  std::vector<Snapshot> snapshots_;  // the last one goes on, the others stay
};

}  // namespace detol

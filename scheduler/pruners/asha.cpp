// Asynchronous successive halving with promotion (Li et al., 2020, "A System for Massively
// Parallel Hyperparameter Tuning", MLSys, arXiv 1810.05934, algorithm 2).
//
// Rungs stand at the early reports inside the first epoch, if the study has any, and at
// min_resource * reduction_factor^k epochs, below the full length, which is the top. A trial that
// reaches a rung leaves its value there and pauses. A worker that becomes free looks from the
// highest rung down for a trial to promote:
//
//   among the best floor(n / reduction_factor) of the n values of a rung,
//   the best whose trial was not promoted from it yet
//
// and trains it from its checkpoint to the next rung; where no rung has one, it begins a new trial.
// No worker waits for a full rung.
//
//   reduction_factor 3, one worker; trials 0, 1, ... leave 5, 4, 4.5, 7, 3, 3.5 at the lowest rung.
//   After the third value one of three may be promoted: trial 1 (4). After the fifth, one of five:
//   this is trial 4 (3) now, so it is promoted, too. After the sixth, two of six: 4 and 5 (3.5), of
//   which 4 was promoted already; trial 5 is promoted.
//
// The paper leaves these questions open; this is how they are answered here:
// - With several workers a rung holds what was reported so far, and a promotion is decided
//   when a worker becomes free, never earlier. Two runs may thus promote in different orders;
//   the same order of events promotes the same trials, and one worker follows the sequential
//   algorithm.
// - Of equal values, the one with the smaller trial number is the better.
// - NaN is the worst value of its rung and is never promoted. A trial that failed, or was not
//   trained because its result was known, left no value and does not count.
// - The trial's own recipe may be shorter than the full length: it is complete then, keeps its
//   place in the rungs it has passed, and is not promoted.
//
// Price: a study of fewer than reduction_factor^(rungs) trials brings none to its full length,
// and paused trials hold disk space (see checkpoint_retention.h). Per report O(log n).

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"

namespace detol::inline scheduler {
namespace {

struct Place {
  double loss;
  TrialId trial;

  bool operator<(const Place& other) const {
    return loss != other.loss ? loss < other.loss : trial < other.trial;
  }
};

// Rung holds the values left at one number of epochs.
class Rung {
 public:
  void enter(const Place& place, bool is_paused, std::int64_t reduction_factor) {
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

  void withdraw(const Place& place) {
    paused_.erase(place);
    promotable_.erase(place);
  }

  // Returns the paused trials among the best 1/reduction_factor, in the order of their values.
  const std::set<Place>& promotable() const { return promotable_; }

 private:
  void raise(Place place) {
    rest_.erase(place);
    best_.insert(place);
    if (paused_.contains(place)) promotable_.insert(place);
  }

  void lower(Place place) {
    best_.erase(place);
    rest_.insert(place);
    promotable_.erase(place);
  }

  std::int64_t size_ = 0;
  std::set<Place> best_;  // the best floor(size_ / reduction_factor) places
  std::set<Place> rest_;
  std::set<Place> paused_;
  std::set<Place> promotable_;
};

class Asha final : public Pruner {
 public:
  Asha(const PrunerSettings& settings, std::int64_t min_resource, std::int64_t reduction_factor)
      : direction_(settings.direction), reduction_factor_(reduction_factor) {
    for (const double early : settings.early_reports) rungs_[early];
    for (std::int64_t epoch = min_resource; epoch < settings.max_epochs; epoch *= reduction_factor)
      rungs_[static_cast<double>(epoch)];
  }

  Advice judge(TrialId trial, double epochs, double value) override {
    const bool is_nan = value != value;
    const auto rung = rungs_.find(epochs);
    if (rung == rungs_.end()) return is_nan ? Advice::kStop : Advice::kContinue;
    const Place place{loss_of(direction_, value), trial};
    rung->second.enter(place, !is_nan, reduction_factor_);
    if (is_nan) return Advice::kStop;
    paused_.insert_or_assign(trial, Paused{&rung->second, place});
    return Advice::kPause;
  }

  std::optional<TrialId> promotion() const override {
    for (auto rung = rungs_.rbegin(); rung != rungs_.rend(); ++rung) {
      const std::set<Place>& promotable = rung->second.promotable();
      if (!promotable.empty()) return promotable.begin()->trial;
    }
    return std::nullopt;
  }

  void withdraw(TrialId trial) override {
    const auto found = paused_.find(trial);
    if (found == paused_.end()) return;
    found->second.rung->withdraw(found->second.place);
    paused_.erase(found);
  }

 private:
  struct Paused {
    Rung* rung;
    Place place;
  };

  const Direction direction_;
  const std::int64_t reduction_factor_;
  std::map<double, Rung> rungs_;  // by epochs; complete after construction
  std::unordered_map<TrialId, Paused> paused_;
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_asha(const PrunerSettings& settings) {
  OptionReader options("asha", settings.options);
  const std::int64_t min_resource = options.whole("min_resource", 1, 1, 1'000'000);
  const std::int64_t reduction_factor = options.whole("reduction_factor", 3, 2, 1'000);
  DETOL_TRY(options.done());
  return std::make_unique<Asha>(settings, min_resource, reduction_factor);
}

}  // namespace detol::inline scheduler

// The tree-structured Parzen estimator (Bergstra, Bardenet, Bengio and Kegl, 2011, "Algorithms for
// Hyper-Parameter Optimization", NeurIPS), with one joint density of all choices (Falkner, Klein
// and Hutter, 2018, "BOHB", ICML; Optuna's multivariate TPESampler).
//
// The best tenth of the trials is good, the others are bad. A density is fitted to each (parzen.h),
// some candidates are drawn from that of the good ones, and the one with the largest ratio of the
// good density to the bad is proposed, where the expected improvement is largest.
//
//   told: lr 0.1 -> loss 5, 0.01 -> 1 (good), 0.001 -> 4. Drawn near 0.01: 0.03, 0.008, 0.002; of
//   these 0.008 is farthest from both bad ones
//
// Choices that the papers leave open:
// - Until `startup` trials were measured, trials are points of a Sobol sequence.
// - A good trial weighs as much as it is better than the best bad one (Watanabe, 2023,
//   "Tree-Structured Parzen Estimator", arXiv 2304.11127). The kernels of good trials get narrower
//   as these converge, those of bad trials only as their number grows.
// - A trial that failed, or whose value is NaN, is bad. So is one that is being measured, so that
//   workers keep apart (as with Optuna's constant liar).
// - The best candidate that was neither told nor is expected is taken; if all were, the best one is
//   mutated, up to kMostMutations times.
// - Of more than kMostBad bad trials the latest count: most of these are near the good ones.
// - Conditions: one density spans all branches (parzen.h), where the papers have one per node and
//   Optuna one per group of choices that occur together.
//
// The uniform density counts as one observation in the widths of the good: without it they collapse
// on the first two good trials, and the search is stuck in a local optimum from then on (levy in 5
// dimensions, 200 trials: regret 3.7, not 0.1). Other weights, widths, shares and numbers of
// candidates were about as good on eight functions.
//
// A proposal depends on the seed, its number, and on the trials told and expected, in any order.
// Price: O(candidates n d) per ask for n trials of d choices, kMostBad at most: a millisecond.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/options.h"
#include "core/rng.h"
#include "search/numbered.h"
#include "search/outcome_value.h"
#include "search/parzen.h"
#include "search/perturb.h"
#include "search/searchers.h"
#include "search/sobol_points.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kMostGood = 25;
constexpr std::size_t kMostBad = 1000;
constexpr double kLeastWeight = 1e-12;  // of a good trial, as a share of the largest

struct TpeOptions {
  std::size_t startup;
  std::size_t candidates;
  double gamma;  // the share of good trials
};

struct Seen {
  Genome genome;
  std::vector<double> coordinates;
  RankedLoss loss = {};
  bool is_measured = false;  // else it failed, or is being measured
};

struct TpeSplit {
  std::vector<Observation> good, bad;
};

class Tpe final : public Searcher {
 public:
  Tpe(const Space& space, const SearcherSettings& settings, TpeOptions options)
      : axes_(space),
        starts_(space.size(), settings.seed),
        rng_(settings.seed),
        direction_(settings.objectives.front().direction),
        options_(options) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    return numbered(*this, first_id, count,
                    [&](TrialId id) { return propose(id, rng_.split(id)); });
  }

  void expect(const Trial& trial) override {
    if (!told_.contains(trial.id)) expected_[trial.id] = seen(trial);
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    expected_.erase(trial.id);
    Seen& told = told_[trial.id];
    if (told.is_measured) by_loss_.erase({told.loss, trial.id});
    told = seen(trial);
    told.loss = ranked_loss(outcome, direction_);
    told.is_measured = told.loss.is_measured();
    if (!told.is_measured) return;
    by_loss_.emplace(told.loss, trial.id);
  }

 private:
  Seen seen(const Trial& trial) {
    known_.insert(axes_.space().identity(trial.genome));
    return {.genome = trial.genome, .coordinates = axes_.coordinates_of(trial.genome)};
  }

  bool is_known(const Genome& genome) const {
    return known_.contains(axes_.space().identity(genome));
  }

  Genome propose(TrialId id, Rng rng) const {
    Genome genome = by_loss_.size() < options_.startup ? axes_.space().at(starts_.point(id))
                                                       : best_candidate(rng);
    return mutated_until_unseen(axes_.space(), std::move(genome), known_, rng);
  }

  Genome best_candidate(Rng& rng) const {
    TpeSplit split = split_of_all();
    const Parzen good(axes_, std::move(split.good), Bandwidth::kScott);
    const Parzen bad(axes_, std::move(split.bad), Bandwidth::kFixed);
    Genome best;
    bool best_is_new = false;
    double best_score = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < options_.candidates; ++i) {
      Genome candidate = good.draw(rng);
      const bool is_new = !is_known(candidate);
      if (best_is_new && !is_new) continue;
      const std::vector<double> at = axes_.coordinates_of(candidate);
      const double score = good.log_density(at) - bad.log_density(at);
      if (i > 0 && is_new == best_is_new && score <= best_score) continue;
      best = std::move(candidate);
      best_is_new = is_new;
      best_score = score;
    }
    return best;
  }

  // Splits the trials by loss; of equal losses the earlier trials are good. Of the bad ones it
  // takes those that are expected, and the latest.
  TpeSplit split_of_all() const {
    TpeSplit split;
    std::unordered_set<TrialId> good;
    auto next = by_loss_.begin();
    for (std::size_t count = good_of(told_.size()); good.size() < count; ++next) {
      const Seen& trial = told_.at(next->second);
      split.good.push_back({&trial.genome, trial.coordinates});
      good.insert(next->second);
    }
    if (next != by_loss_.end()) weigh(split.good, next->first);
    for (const auto* latest : {&expected_, &told_}) {
      for (auto each = latest->rbegin(); each != latest->rend(); ++each) {
        if (split.bad.size() >= kMostBad) break;
        if (good.contains(each->first)) continue;
        split.bad.push_back({&each->second.genome, each->second.coordinates});
      }
    }
    return split;
  }

  std::size_t good_of(std::size_t told) const {
    const auto share =
        static_cast<std::size_t>(std::ceil(options_.gamma * static_cast<double>(told)));
    return std::min({std::max<std::size_t>(share, 1), kMostGood, by_loss_.size()});
  }

  // Weighs each good trial by how much it is better than the best bad one, whose loss is `bad`:
  // by the losses, or by the violations where all of these exceed a constraint. Evenly where only
  // the bad one does, and where the losses are equal or infinite.
  void weigh(std::vector<Observation>& good, const RankedLoss& bad) const {
    const RankedLoss& best = by_loss_.begin()->first;
    if (best.violation == 0 && bad.violation > 0) return;
    const auto number = best.violation > 0 ? &RankedLoss::violation : &RankedLoss::loss;
    const double most = bad.*number - best.*number;
    if (!(most > 0 && std::isfinite(most))) return;
    auto next = by_loss_.begin();
    for (Observation& each : good)
      each.weight = std::max((bad.*number - (next++)->first.*number) / most, kLeastWeight);
  }

  const Axes axes_;
  const SobolPoints starts_;
  const Rng rng_;
  const Direction direction_;
  const TpeOptions options_;
  std::map<TrialId, Seen> told_, expected_;
  std::set<std::pair<RankedLoss, TrialId>> by_loss_;  // the measured ones of told_
  std::unordered_set<std::uint64_t> known_;           // identities of all genomes told or expected
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_tpe(const Space& space, const SearcherSettings& settings) {
  OptionReader reader("tpe", settings.options);
  const std::int64_t startup = reader.whole("startup", 10, 1, 10'000);
  const std::int64_t candidates = reader.whole("candidates", 24, 1, 10'000);
  const double gamma = reader.real("gamma", 0.1, 0, 1);
  DETOL_TRY(reader.done());
  const TpeOptions options{.startup = static_cast<std::size_t>(startup),
                           .candidates = static_cast<std::size_t>(candidates),
                           .gamma = gamma};
  return std::make_unique<Tpe>(space, settings, options);
}

}  // namespace detol::inline search

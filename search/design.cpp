// A designed sample of a space: each trial is the one of a few Sobol points that is farthest from
// all trials so far (greedy maximin; Johnson, Moore and Ylvisaker, 1990, "Minimax and Maximin
// Distance Designs", J. Statist. Plann. Inference 26). Genomes that are far apart may describe
// networks that are alike, so half of the distance is that of the networks' graphs.
//
//   told: two cells of convolutions. Of the next points conv-conv, conv-pool, skip-none the design
//   takes skip-none
//
// The distance of two trials is the mean over the choices (squared difference of positions, 1 for
// different categories) plus 1 - k, k the Weisfeiler-Lehman kernel of their graphs
// (graph_features.h). A space without graphs gets Sobol's sequence, which covers the choices better
// by itself (experiments/meta_learning/LOG.md).
//
// A proposal depends on the seed, its number, and the trials asked for, expected and told, in any
// order; outcomes do not count. So studies of one space and seed try the same candidates on
// different data. Price: O(candidates n) per ask for n trials, about a millisecond at n = 500.

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/options.h"
#include "search/numbered.h"
#include "search/searchers.h"
#include "search/sobol_points.h"
#include "surrogate/features.h"

namespace detol::inline search {
namespace {

constexpr int kDepth = 2;  // of the kernel of graphs

class Design final : public Searcher {
 public:
  Design(const Space& space, std::uint64_t seed, std::uint64_t candidates)
      : space_(space),
        sobol_(space.size(), seed),
        candidates_(space.has_graph() ? candidates : 1),
        features_(space),
        known_(features_.empty_points()) {
    known_.index_graphs();
  }

  std::vector<Trial> ask(TrialId first_id, int count) override {
    return numbered(*this, first_id, count, [&](TrialId id) { return farthest(id); });
  }

  void expect(const Trial& trial) override {
    if (ids_.insert(trial.id).second) known_.push_back(features_.of(trial.genome));
  }

  void tell(const Trial& trial, const Outcome&) override { expect(trial); }

 private:
  // Returns the best of the points id * candidates, ..., (id + 1) * candidates - 1; the first of
  // equals.
  Genome farthest(TrialId id) const {
    Genome best = space_.at(sobol_.point(id * candidates_));
    if (candidates_ == 1) return best;
    double most = least_distance(best);
    for (std::uint64_t i = 1; i < candidates_; ++i) {
      Genome genome = space_.at(sobol_.point(id * candidates_ + i));
      const double distance = least_distance(genome);
      if (distance <= most) continue;
      most = distance;
      best = std::move(genome);
    }
    return best;
  }

  // Returns the distance of the nearest known trial; infinity if there is none.
  double least_distance(const Genome& genome) const {
    const std::vector<double> all = distances(features_.of(genome));
    return all.empty() ? std::numeric_limits<double>::infinity() : *std::ranges::min_element(all);
  }

  // Returns the distance of each known trial.
  std::vector<double> distances(const Point& x) const {
    std::vector<double> all(known_.size());
    for (std::size_t column = 0; column < x.numbers.size(); ++column) {
      const auto others = known_.numbers(column);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double difference = others[i] - x.numbers[column];
        all[i] += difference * difference;
      }
    }
    for (std::size_t column = 0; column < x.categories.size(); ++column) {
      const auto others = known_.categories(column);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += others[i] != x.categories[column];
    }
    const double share = 1.0 / static_cast<double>(std::max<std::size_t>(1, space_.size()));
    for (double& distance : all) distance *= share;
    if (x.graph == nullptr) return all;
    std::vector<double> alike(all.size());
    known_.graph_index()->kernels(*x.graph, kDepth, alike);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += 1 - alike[i];
    return all;
  }

  const Space space_;
  const SobolPoints sobol_;
  const std::uint64_t candidates_;
  const Features features_;
  Points known_;  // in any order: only the least distance counts
  std::unordered_set<TrialId> ids_;
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_design(const Space& space,
                                              const SearcherSettings& settings) {
  OptionReader options("design", settings.options);
  const std::int64_t candidates = options.whole("candidates", 8, 1, 1024);
  DETOL_TRY(options.done());
  return std::make_unique<Design>(space, settings.seed, static_cast<std::uint64_t>(candidates));
}

}  // namespace detol::inline search

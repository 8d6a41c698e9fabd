// Steady-state genetic algorithm with tournaments and crossover (Holland, 1975, "Adaptation in
// Natural and Artificial Systems"; Whitley, 1989, "The GENITOR Algorithm and Selection Pressure",
// ICGA).
//
// The population is the best `population` trials that were told. Two parents, each the best of
// `tournament` members drawn with replacement, make a child: every group of choices comes from one
// of them, numbers also from around them, and about one choice is mutated (breeding.h). Evolution
// changes one choice of one network; crossover combines the choices of two.
//
//   population 3: (a1 b1 0.5) (a1 b2 0.4) (a2 b3 0.7); tournaments give (a1 b1), (a1 b2);
//   child (a1 b2) mutated to (a3 b2), told 0.3 -> it joins, (a2 b3) leaves
//
// Choices that the books leave open:
// - There are no generations to wait for: a child joins as soon as it was told, if it is better
//   than the worst, so that a thousand workers are never idle. Of equal values the newer one stays,
//   so that the search crosses plateaus.
// - Until `startup` trials were measured, trials are uniform draws.
// - A child that was told before, or is expected, is mutated again, up to kMostMutations times.
// - A trial that failed, or whose value is NaN, is no individual. After a changed outcome the
//   population is made again from all tells.
//
// A proposal depends on the seed, its number and the tells alone. Price: a few microseconds per
// ask and tell, O(log n) for a tell, a genome per trial ever told.

#include <algorithm>
#include <unordered_set>

#include "core/options.h"
#include "core/rng.h"
#include "search/breeding.h"
#include "search/history.h"
#include "search/numbered.h"
#include "search/outcome_value.h"
#include "search/perturb.h"
#include "search/searchers.h"

namespace detol::inline search {
namespace {

struct GeneticOptions {
  std::size_t population;
  std::int64_t tournament;
  std::size_t startup;
  double crossover_rate;
};

class Genetic final : public Searcher {
 public:
  Genetic(Space space, const SearcherSettings& settings, GeneticOptions options)
      : space_(std::move(space)),
        rng_(settings.seed),
        direction_(settings.objectives.front().direction),
        options_(options) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    told_.catch_up([&](std::size_t place) { join(told_[place]); });
    return numbered(*this, first_id, count, [&](TrialId id) { return propose(rng_.split(id)); });
  }

  void expect(const Trial& trial) override { known_.insert(space_.identity(trial.genome)); }

  void tell(const Trial& trial, const Outcome& outcome) override {
    known_.insert(space_.identity(trial.genome));
    if (told_.tell(trial.id, {trial.genome, ranked_loss(outcome, direction_)})) population_.clear();
  }

 private:
  struct Individual {
    Genome genome;
    RankedLoss loss;
  };

  // Keeps population_ sorted, the best first, and no larger than the option.
  void join(const Individual& told) {
    if (!told.loss.is_measured()) return;
    const auto at = std::ranges::find_if(
        population_, [&](const Individual& individual) { return !(individual.loss < told.loss); });
    population_.insert(at, told);
    if (population_.size() > options_.population) population_.pop_back();
  }

  Genome propose(Rng rng) const {
    Genome child = population_.size() < options_.startup ? space_.sample(rng) : bred(rng);
    return mutated_until_unseen(space_, std::move(child), known_, rng);
  }

  Genome bred(Rng& rng) const {
    const Genome& one = winner(rng);
    const Genome& other = winner(rng);
    return child_of(space_, one, other, {.crossover_rate = options_.crossover_rate}, rng);
  }

  // Returns the best of `tournament` draws, which has the least place as population_ is sorted.
  const Genome& winner(Rng& rng) const {
    std::size_t best = population_.size() - 1;
    for (std::int64_t i = 0; i < options_.tournament; ++i)
      best = std::min<std::size_t>(best, rng.below(population_.size()));
    return population_[best].genome;
  }

  const Space space_;
  const Rng rng_;
  const Direction direction_;
  const GeneticOptions options_;
  History<Individual> told_;
  std::vector<Individual> population_;       // the best first
  std::unordered_set<std::uint64_t> known_;  // identities of all genomes told or expected
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_genetic(const Space& space,
                                               const SearcherSettings& settings) {
  OptionReader reader("genetic", settings.options);
  const std::int64_t population = reader.whole("population", 20, 2, 10'000);
  const std::int64_t tournament = reader.whole("tournament", 5, 1, 10'000);
  const std::int64_t startup = reader.whole("startup", 10, 1, 10'000);
  const double crossover_rate = reader.real("crossover_rate", 0.9, 0, 1);
  DETOL_TRY(reader.done());
  const GeneticOptions options{.population = static_cast<std::size_t>(population),
                               .tournament = tournament,
                               .startup = static_cast<std::size_t>(std::min(startup, population)),
                               .crossover_rate = crossover_rate};
  return std::make_unique<Genetic>(space, settings, options);
}

}  // namespace detol::inline search

// Steady-state NSGA-II for several objectives (Deb, Pratap, Agarwal and Meyarivan, 2002, "A
// Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", IEEE TEC 6(2); Durillo, Nebro,
// Luna and Alba, 2009, "On the Effect of the Steady-State Selection Scheme in Multi-Objective
// Genetic Algorithms", EMO: better than generations on most problems, ZDT and DTLZ among them).
//
// One individual dominates another if it is nowhere worse and somewhere better. Individuals that no
// other dominates are front 0; those that only front 0 dominates are front 1, and so on. Within a
// front the crowding distance of an individual is the distance between its two neighbours over the
// width of the front, summed over the objectives; it is infinite at the ends of a front. The lower
// front wins, within a front the larger crowding distance.
//
//   minimise both: (1, 4) (2, 2) (4, 1) are front 0, (3, 3) is front 1. The crowding distance at
//   (2, 2) is (4 - 1) / 3 + (4 - 1) / 3 = 2. Of five with room for four, (3, 3) leaves.
//
// Each new trial is a child of two winners, each the better of two individuals drawn at random:
// groups of choices from either parent, numbers also from around them, about one choice mutated
// (breeding.h). Each outcome joins, and once the population is full the worst individual leaves.
//
// Choices that the papers leave open:
// - There are no generations to wait for, so that a thousand workers are never idle.
// - Until `startup` trials were measured, trials are uniform draws.
// - A trial that failed is infeasible (too large, out of memory, diverged), as is one with a NaN
//   or too few values: every measured trial dominates it, so it is no individual.
// - A child that was told before, or is expected, is mutated again, up to kMostMutations times.
// - With one objective, fronts are ranks, and this is a steady-state genetic algorithm.
// - A changed outcome has the effect as if it had been told at first.
//
// The defaults were chosen on ZDT1-3 and DTLZ2 with 1,000 trials: children whose numbers are far
// from their parents' (crossover_eta 3, mutation_eta 5) were much better there than with 15 and 20,
// which suit tens of thousands of trials.
//
// A proposal depends on the seed, its number and the tells alone. Price: O(m p^2) per tell for m
// objectives and p individuals, some 100 microseconds at p = 50, and a genome per trial ever told.

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/options.h"
#include "core/rng.h"
#include "search/breeding.h"
#include "search/history.h"
#include "search/numbered.h"
#include "search/outcome_value.h"
#include "search/perturb.h"
#include "search/searchers.h"
#include "surrogate/pareto.h"

namespace detol::inline search {
namespace {

struct Nsga2Options {
  std::size_t population;
  std::size_t startup;
  Breeding breeding;
};

struct Nsga2Individual {
  Genome genome;
  RankedLosses losses;  // empty: failed
  std::size_t front = 0;
  double crowding_distance = 0;
};

bool is_fitter(const Nsga2Individual& a, const Nsga2Individual& b) {
  return a.front != b.front ? a.front < b.front : a.crowding_distance > b.crowding_distance;
}

// Numbers the fronts (fast non-dominated sorting).
void sort_into_fronts(std::vector<Nsga2Individual>& population) {
  std::vector<std::size_t> dominators(population.size(), 0);
  std::vector<std::vector<std::size_t>> dominated(population.size());
  for (std::size_t a = 0; a < population.size(); ++a) {
    for (std::size_t b = 0; b < population.size(); ++b) {
      if (!dominates(population[a].losses, population[b].losses)) continue;
      dominated[a].push_back(b);
      ++dominators[b];
    }
  }
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < population.size(); ++i) {
    if (dominators[i] == 0) front.push_back(i);
  }
  for (std::size_t number = 0; !front.empty(); ++number) {
    std::vector<std::size_t> next;
    for (std::size_t i : front) {
      population[i].front = number;
      for (std::size_t other : dominated[i]) {
        if (--dominators[other] == 0) next.push_back(other);
      }
    }
    front = std::move(next);
  }
}

// Adds the crowding distances along one objective within one front.
void add_crowding_distances(std::vector<Nsga2Individual*>& front, std::size_t objective) {
  const auto loss = [&](const Nsga2Individual* individual) {
    return individual->losses.losses[objective];
  };
  std::ranges::stable_sort(front, {}, loss);
  const double width = loss(front.back()) - loss(front.front());
  front.front()->crowding_distance = front.back()->crowding_distance =
      std::numeric_limits<double>::infinity();
  if (!(width > 0 && std::isfinite(width))) return;
  for (std::size_t i = 1; i + 1 < front.size(); ++i)
    front[i]->crowding_distance += (loss(front[i + 1]) - loss(front[i - 1])) / width;
}

void find_crowding_distances(std::vector<Nsga2Individual>& population, std::size_t objectives) {
  std::vector<std::vector<Nsga2Individual*>> fronts(population.size());
  for (Nsga2Individual& individual : population) {
    individual.crowding_distance = 0;
    fronts[individual.front].push_back(&individual);
  }
  for (std::vector<Nsga2Individual*>& front : fronts) {
    for (std::size_t i = 0; i < objectives && !front.empty(); ++i) add_crowding_distances(front, i);
  }
}

class Nsga2 final : public Searcher {
 public:
  Nsga2(Space space, const SearcherSettings& settings, Nsga2Options options)
      : space_(std::move(space)),
        rng_(settings.seed),
        objectives_(settings.objectives),
        options_(options) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    told_.catch_up([&](std::size_t place) { join(told_[place]); });
    return numbered(*this, first_id, count, [&](TrialId id) { return propose(rng_.split(id)); });
  }

  void expect(const Trial& trial) override { known_.insert(space_.identity(trial.genome)); }

  void tell(const Trial& trial, const Outcome& outcome) override {
    known_.insert(space_.identity(trial.genome));
    const bool is_wrong = told_.tell(
        trial.id, {.genome = trial.genome, .losses = ranked_losses(outcome, objectives_)});
    if (is_wrong) population_.clear();
  }

 private:
  void join(const Nsga2Individual& told) {
    if (told.losses.empty()) return;
    population_.push_back(told);
    sort_into_fronts(population_);
    find_crowding_distances(population_, objectives_.size());
    if (population_.size() <= options_.population) return;
    // The oldest of equally bad individuals leaves, so that the search crosses plateaus.
    population_.erase(std::ranges::max_element(population_, is_fitter));
    find_crowding_distances(population_, objectives_.size());
  }

  Genome propose(Rng rng) const {
    Genome child = population_.size() < options_.startup ? space_.sample(rng) : bred(rng);
    return mutated_until_unseen(space_, std::move(child), known_, rng);
  }

  Genome bred(Rng& rng) const {
    const Genome& one = winner(rng);
    const Genome& other = winner(rng);
    return child_of(space_, one, other, options_.breeding, rng);
  }

  const Genome& winner(Rng& rng) const {
    const Nsga2Individual& a = population_[rng.below(population_.size())];
    const Nsga2Individual& b = population_[rng.below(population_.size())];
    return is_fitter(b, a) ? b.genome : a.genome;
  }

  const Space space_;
  const Rng rng_;
  const std::vector<Objective> objectives_;
  const Nsga2Options options_;
  History<Nsga2Individual> told_;
  std::vector<Nsga2Individual> population_;  // oldest first
  std::unordered_set<std::uint64_t> known_;  // identities of all genomes told or expected
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_nsga2(const Space& space, const SearcherSettings& settings) {
  OptionReader reader("nsga2", settings.options);
  const std::int64_t population = reader.whole("population", 50, 4, 10'000);
  const std::int64_t startup = reader.whole("startup", 20, 2, 10'000);
  const Breeding breeding{.crossover_rate = reader.real("crossover_rate", 0.9, 0, 1),
                          .crossover_eta = reader.real("crossover_eta", 3, 0, 1000),
                          .mutation_eta = reader.real("mutation_eta", 5, 0, 1000)};
  DETOL_TRY(reader.done());
  const Nsga2Options options{.population = static_cast<std::size_t>(population),
                             .startup = static_cast<std::size_t>(std::min(startup, population)),
                             .breeding = breeding};
  return std::make_unique<Nsga2>(space, settings, options);
}

}  // namespace detol::inline search

// Regularised evolution (Real et al., 2019, "Regularized Evolution for Image Classifier
// Architecture Search", AAAI, arXiv 1802.01548, algorithm 1).
//
// The population is a queue. Each new trial mutates one choice of the best of `sample` members
// drawn with replacement; each outcome joins at the back and, once the queue is full, the
// oldest individual leaves. Age, not rank, decides which one leaves: a lucky measurement cannot
// stay for ever. This is the regularisation.
//
//   population 3, sample 2: members (a 0.5)(b 0.2)(c 0.9); drawn b, c -> b is mutated into d;
//   told d 0.4: (b 0.2)(c 0.9)(d 0.4)
//
// Choices that the paper leaves open:
// - Until `startup` trials were measured, trials are uniform draws. The paper fills its whole
//   population this way (100 of 20,000 trials); a study of twenty to a hundred trials cannot.
// - With sources half of these first trials are mutations of the sources' best trials instead.
// - A child that was told before, or is expected, is mutated again, up to kMostMutations times, so
//   that no candidate is trained twice as long as the space has new ones nearby.
// - A trial that failed, or whose value is NaN, has no offspring.
// - A trial that is told again keeps its age and gets the new value; if it had left the
//   population, it joins again at the back.
// - Where children inherit weights (SearcherSettings::preserves), up to kMostTries mutations are
//   drawn for one that begins with all that its parent has learned; else the last one is taken.
// - Values are compared as they are, whatever their fidelity. A trial that was stopped early
//   counts with what it had reached: usually less than its full length would have given, and
//   the pruner that stopped it had judged it worse at equal length.
//
// The defaults (population 30, sample 20, startup 8) suit twenty to some hundreds of trials. Of 33
// settings on five functions and of some more on tables of networks, greedy ones (sample >=
// population / 2) were best after 25 to 200 trials. The defaults were better than population 20 and
// sample 10 after 50, 100 and 200 trials on each of seven functions, except levy, where they were
// equal (200 seeds). Long searches need a larger population.
//
// A proposal depends on the seed, its number, and on what was told and expected. Price: a few
// microseconds per ask and tell, O(population) memory and eight bytes per trial ever asked.

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "core/options.h"
#include "core/rng.h"
#include "search/outcome_value.h"
#include "search/perturb.h"
#include "search/searchers.h"
#include "search/sources.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kSourceParents = 5;  // the best trials of each source
constexpr double kSourceShare = 0.5;       // of the first trials that descend from them
constexpr int kMostTries = 8;              // mutations for one that preserves

struct EvolutionOptions {
  std::size_t population;
  std::int64_t sample;
  std::size_t startup;
};

class Evolution final : public Searcher {
 public:
  Evolution(Space space, const SearcherSettings& settings, EvolutionOptions options)
      : space_(std::move(space)),
        rng_(settings.seed),
        direction_(settings.objectives.front().direction),
        options_(options),
        preserves_(settings.preserves) {
    for (const MappedSource& source : mapped_sources(space_, settings)) {
      const std::size_t count = std::min(source.trials.size(), kSourceParents);
      for (std::size_t i = 0; i < count; ++i) source_parents_.push_back(source.trials[i].genome);
    }
  }

  std::vector<Trial> ask(TrialId first_id, int count) override {
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
      trials.push_back(propose(first_id + static_cast<TrialId>(i)));
      expect(trials.back());
    }
    return trials;
  }

  void expect(const Trial& trial) override { known_.insert(space_.identity(trial.genome)); }

  void tell(const Trial& trial, const Outcome& outcome) override {
    known_.insert(space_.identity(trial.genome));
    const RankedLoss loss = ranked_loss(outcome, direction_);
    const auto earlier = std::ranges::find(
        population_, trial.id, [](const Individual& individual) { return individual.trial.id; });
    if (!loss.is_measured()) {
      if (earlier != population_.end()) population_.erase(earlier);
      return;
    }
    if (earlier != population_.end()) {
      *earlier = {trial, loss};
      return;
    }
    population_.push_back({trial, loss});
    if (population_.size() > options_.population) population_.pop_front();
  }

 private:
  struct Individual {
    Trial trial;
    RankedLoss loss;
  };

  Trial propose(TrialId id) const {
    Rng rng = rng_.split(id);
    if (population_.size() < options_.startup)
      return {.id = id, .genome = mutated_until_unseen(space_, first_draw(rng), known_, rng)};
    const Trial& parent = best_of_sample(rng);
    return {.id = id, .genome = child_of(parent.genome, rng), .parent = parent.id};
  }

  Genome child_of(const Genome& parent, Rng& rng) const {
    Genome child;
    for (int i = 0; i < kMostTries; ++i) {
      child = mutated_until_unseen(space_, space_.mutate(parent, rng), known_, rng);
      if (preserves_ == nullptr || preserves_(parent, child)) break;
    }
    return child;
  }

  Genome first_draw(Rng& rng) const {
    if (source_parents_.empty() || !rng.chance(kSourceShare)) return space_.sample(rng);
    return space_.mutate(source_parents_[rng.below(source_parents_.size())], rng);
  }

  const Trial& best_of_sample(Rng& rng) const {
    const Individual* best = &population_[rng.below(population_.size())];
    for (std::int64_t i = 1; i < options_.sample; ++i) {
      const Individual& drawn = population_[rng.below(population_.size())];
      if (drawn.loss < best->loss) best = &drawn;
    }
    return best->trial;
  }

  const Space space_;
  const Rng rng_;
  const Direction direction_;
  const EvolutionOptions options_;
  const std::function<bool(const Genome&, const Genome&)> preserves_;
  std::vector<Genome> source_parents_;       // empty: there are no sources
  std::deque<Individual> population_;        // oldest first; at most options_.population of them
  std::unordered_set<std::uint64_t> known_;  // identities of all genomes told or expected
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_evolution(const Space& space,
                                                 const SearcherSettings& settings) {
  OptionReader reader("evolution", settings.options);
  const std::int64_t population = reader.whole("population", 30, 2, 10'000);
  const std::int64_t sample = reader.whole("sample", 20, 1, 10'000);
  const std::int64_t startup = reader.whole("startup", 8, 1, 10'000);
  DETOL_TRY(reader.done());
  const EvolutionOptions options{
      .population = static_cast<std::size_t>(population),
      .sample = sample,
      .startup = static_cast<std::size_t>(std::min(startup, population))};
  return std::make_unique<Evolution>(space, settings, options);
}

}  // namespace detol::inline search

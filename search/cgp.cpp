// Cartesian genetic programming's (1 + lambda) strategy (Miller and Thomson, 2000, "Cartesian
// Genetic Programming", EuroGP), with the forced mutation and the neutral modification of
// Suganuma et al. (2017, "A Genetic Programming Approach to Designing Convolutional Neural
// Network Architectures", GECCO, arXiv 1704.00764).
//
// There is one parent. Every new trial is its child: each choice changes with probability
// `mutation_rate`, again and again until one that is expressed has changed, so that no child has
// the same network as its parent. A child that is at least as good becomes the parent. Equal
// children must be accepted: the search drifts over plateaus of equal networks, and the choices
// that are not expressed drift along, so that one changed connection later expresses something new.
//
//   parent (a 0.5); children told: b 0.6, c 0.5 -> the parent is c; d 0.4 -> the parent is d
//
// Choices that the paper leaves open:
// - It waits for lambda children, compares them, and modifies the parent neutrally if none was
//   good enough. Here workers do not wait for each other: a child is compared when it is told, and
//   a generation is `lambda` tells. After g generations without success, children come from a copy
//   of the parent whose unexpressed choices are drawn anew with probability 1 - (1 - rate)^g, which
//   equals g neutral modifications. Each child draws its own copy, from its own random stream.
// - The first parent is the best of `startup` uniform draws.
// - A child that was told before, or is expected, gives way to another, up to kMostChildren times,
//   then to a mutation of the last.
// - A trial that failed, or whose value is NaN, is no parent. A trial that is told again counts
//   with its new value at the place of its first; a parent that turns out worse is succeeded by
//   the best of the others, the latest of equals.
//
// It works on any space; without unexpressed choices it is a hill climber that accepts equals. As
// it has no population, a measurement that is too good by luck stays the parent until another trial
// is as good.
//
// Price: two microseconds per ask and tell with ten choices, a tenth of a millisecond with the 451
// of a 5 x 30 grid; memory for every genome ever told. After a tell that replaces an earlier one,
// the next ask compares all again.

#include <cmath>
#include <optional>
#include <unordered_set>

#include "core/options.h"
#include "core/rng.h"
#include "search/history.h"
#include "search/numbered.h"
#include "search/outcome_value.h"
#include "search/perturb.h"
#include "search/searchers.h"

namespace detol::inline search {
namespace {

constexpr int kMostChildren = 20;  // tried for one proposal until one is new
constexpr int kMostPasses = 100;   // over all choices, until an expressed one changes

struct CgpOptions {
  std::size_t lambda;
  double mutation_rate;
  std::size_t startup;
};

class Cgp final : public Searcher {
 public:
  Cgp(Space space, const SearcherSettings& settings, CgpOptions options)
      : space_(std::move(space)),
        rng_(settings.seed),
        direction_(settings.objectives.front().direction),
        options_(options) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    told_.catch_up([&](std::size_t place) { compare(place); });
    return numbered(*this, first_id, count, [&](TrialId id) { return propose(rng_.split(id)); });
  }

  void expect(const Trial& trial) override { known_.insert(space_.identity(trial.genome)); }

  void tell(const Trial& trial, const Outcome& outcome) override {
    known_.insert(space_.identity(trial.genome));
    if (!told_.tell(trial.id, {trial.genome, ranked_loss(outcome, direction_)})) return;
    parent_.reset();
    measured_ = 0;
  }

 private:
  struct Individual {
    Genome genome;
    RankedLoss loss;
  };

  // Makes the trial that was told at `place` the parent if it is no worse.
  void compare(std::size_t place) {
    const RankedLoss& loss = told_[place].loss;
    if (!loss.is_measured()) return;
    ++measured_;
    if (!parent_ || !(told_[*parent_].loss < loss)) parent_ = place;
  }

  Genome propose(Rng rng) const {
    Genome child = measured_ < options_.startup ? space_.sample(rng) : forced(drifted(rng), rng);
    for (int i = 0; i < kMostChildren && known_.contains(space_.identity(child)); ++i)
      child = forced(child, rng);
    return mutated_until_unseen(space_, std::move(child), known_, rng);
  }

  // Returns the parent after as many neutral modifications as generations have failed.
  Genome drifted(Rng& rng) const {
    const Genome& parent = told_[*parent_].genome;
    const std::size_t generations = (told_.size() - 1 - *parent_) / options_.lambda;
    const double redrawn =
        1 - std::pow(1 - options_.mutation_rate, static_cast<double>(generations));
    const std::vector<bool> counts = space_.expressed(parent);
    std::vector<double> codes(parent.codes().begin(), parent.codes().end());
    bool changed = false;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (counts[i] || !parent.is_active(i) || !rng.chance(redrawn)) continue;
      codes[i] = space_.domains()[i].code_at(rng.uniform());
      changed = true;
    }
    if (!changed) return parent;
    Genome modified = space_.repair(std::move(codes), rng);
    return space_.identity(modified) == space_.identity(parent) ? modified : parent;
  }

  // Returns a child that differs from its parent in an expressed choice, if any can.
  Genome forced(const Genome& parent, Rng& rng) const {
    const std::uint64_t identity = space_.identity(parent);
    for (int pass = 0; pass < kMostPasses; ++pass) {
      std::vector<double> codes(parent.codes().begin(), parent.codes().end());
      if (!mutate_points(codes, rng)) continue;
      Genome child = space_.repair(std::move(codes), rng);
      if (space_.identity(child) != identity) return child;
    }
    return space_.mutate(parent, rng);
  }

  // Returns true if a choice changed.
  bool mutate_points(std::vector<double>& codes, Rng& rng) const {
    bool changed = false;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const bool is_active = codes[i] == codes[i];
      if (!is_active || space_.domains()[i].cardinality() < 2) continue;
      if (!rng.chance(options_.mutation_rate)) continue;
      codes[i] = space_.other_code(i, codes[i], rng);
      changed = true;
    }
    return changed;
  }

  const Space space_;
  const Rng rng_;
  const Direction direction_;
  const CgpOptions options_;
  History<Individual> told_;
  std::unordered_set<std::uint64_t> known_;  // identities of all genomes told or expected
  std::optional<std::size_t> parent_;        // the parent's place in told_
  std::size_t measured_ = 0;                 // how many compared trials of told_ have a value
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_cgp(const Space& space, const SearcherSettings& settings) {
  OptionReader reader("cgp", settings.options);
  const std::int64_t lambda = reader.whole("lambda", 2, 1, 10'000);
  const double mutation_rate = reader.real("mutation_rate", 0.05, 1e-6, 1);
  const std::int64_t startup = reader.whole("startup", 4, 1, 10'000);
  DETOL_TRY(reader.done());
  const CgpOptions options{.lambda = static_cast<std::size_t>(lambda),
                           .mutation_rate = mutation_rate,
                           .startup = static_cast<std::size_t>(startup)};
  return std::make_unique<Cgp>(space, settings, options);
}

}  // namespace detol::inline search

// Local search, first improvement (Aarts and Lenstra, 1997, "Local Search in Combinatorial
// Optimization"; White, Nolen and Savani, 2021, "Exploring the Loss Landscape in Neural
// Architecture Search", UAI, arXiv 2005.02960: a strong baseline on tables of networks).
//
// The best of `startup` uniform draws is the first top, the current solution. Its neighbours, which
// differ from it in one choice, are tried in random order; the first that is better becomes the
// top. When all are known and none is better, the search starts again from new draws, remembering
// what was told.
//
//   top (conv, 3) 0.5; neighbours (pool, 3) (skip, 3) (conv, 5) (conv, 1)
//   told (skip, 3) 0.7, (conv, 5) 0.4 -> top (conv, 5) 0.4; neighbours (pool, 5) (conv, 1) ...
//
// Choices that the papers leave open:
// - A choice without an order, or of few values, steps to every other value. A longer range steps
//   up and down once by |normal| x `step` of its width; once all steps have failed the step is
//   halved, down to `smallest`, and each new top doubles it again, up to `step`.
// - A change that failed at an earlier top is tried last at the next, and the change that led to a
//   top is tried first: most changes are as good or bad at a neighbour. On most measured tasks this
//   order gains more than any option does, but not on rastrigin in five dimensions.
// - Any better trial becomes the top, whichever searcher proposed it, and neighbours that are
//   already known to be better are followed at once; if nothing is left to try there, the search
//   starts again.
// - The k-th trial number after a top was told gets neighbour k, or, where that one was told or is
//   expected, a random one of the others. If all are expected, more workers than neighbours try
//   small changes of the top.
// - A trial that failed, or whose value is NaN, is never better.
//
// A proposal depends on the seed, its number, and on what was told and expected. Price: some
// microseconds per ask, a hash per tell; a new top costs a repaired genome and a hash for each of
// its neighbours. After a changed outcome the next ask learns all again.

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/hash.h"
#include "core/options.h"
#include "core/rng.h"
#include "search/history.h"
#include "search/numbered.h"
#include "search/outcome_value.h"
#include "search/perturb.h"
#include "search/searchers.h"

namespace detol::inline search {
namespace {

constexpr int kMostStarts = 20;               // draws spent on a proposal that is new
constexpr double kFewValues = 8;              // of an ordered choice that steps to all of them
constexpr double kShrink = 0.5, kGrow = 2;    // of the step, after failure and success
constexpr std::uint64_t kNeighbours = ~0ULL;  // random stream of neighbourhoods; no trial's number

struct LocalOptions {
  std::size_t startup;
  double step;  // standard deviations, as shares of a range
  double smallest;
};

struct EvaluatedGenome {
  Genome genome;
  std::uint64_t identity;
  RankedLoss loss;
};

bool is_better(const EvaluatedGenome& a, const EvaluatedGenome& b) {
  return a.loss < b.loss;
}

struct Neighbour {
  Genome genome;
  std::uint64_t identity;
  std::uint64_t change;  // hash of the choice and where it goes; comparable between tops
};

// Climb: the current top, and its neighbours that are still to be tried.
struct Climb {
  EvaluatedGenome top;
  double step;
  std::size_t told_before;                                             // trials told before
  std::uint64_t successful_change = kNeighbours;                       // the change that led here
  std::unordered_map<std::uint64_t, std::size_t> failed_changes = {};  // by change: when it failed
  std::vector<Neighbour> neighbours = {};                     // not told before, in order of trial
  std::unordered_map<std::uint64_t, std::size_t> place = {};  // in `neighbours`, by identity
  std::vector<std::size_t> left = {};                         // places not told, ascending
};

// Returns true if a step of this choice goes up or down, rather than to any other value.
bool is_range(const Domain& domain) {
  return domain.is_ordered() && domain.cardinality() > kFewValues;
}

// Returns the code of value number `index` of a choice that is no range.
double code_of_value(const Domain& domain, std::uint64_t index) {
  return domain.code_at((static_cast<double>(index) + 0.5) / domain.cardinality());
}

// Returns the code that lies `widths` of the range further on, at least one grid point away; the
// range's ends reflect.
double stepped(const Domain& domain, double code, double widths) {
  const double least = 1 / domain.cardinality();  // 0 if it is continuous
  const double size = std::max(std::abs(widths), least);
  const double at = domain.position_of(code);
  const double wanted = at + std::copysign(size, widths);
  const double reached = wanted >= 0 && wanted < 1 ? wanted : 2 * at - wanted;
  return domain.code_at(std::clamp(reached, 0.0, std::nextafter(1.0, 0.0)));
}

class Local final : public Searcher {
 public:
  Local(Space space, const SearcherSettings& settings, LocalOptions options)
      : space_(std::move(space)),
        rng_(settings.seed),
        direction_(settings.objectives.front().direction),
        options_(options) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    history_.catch_up([&](std::size_t place) { learn(history_[place], place + 1); });
    return numbered(*this, first_id, count,
                    [&](TrialId id) { return climb_ ? neighbour_for(id) : start_for(id); });
  }

  void expect(const Trial& trial) override { taken_.insert(space_.identity(trial.genome)); }

  void tell(const Trial& trial, const Outcome& outcome) override {
    const EvaluatedGenome told{trial.genome, space_.identity(trial.genome),
                               ranked_loss(outcome, direction_)};
    taken_.insert(told.identity);
    if (!history_.tell(trial.id, told)) return;
    climb_.reset();
    starts_.clear();
    losses_.clear();
  }

 private:
  Genome start_for(TrialId id) const {
    Rng rng = rng_.split(id);
    return first_new([&] { return space_.sample(rng); }, rng);
  }

  Genome neighbour_for(TrialId id) const {
    const std::vector<Neighbour>& all = climb_->neighbours;
    std::vector<std::size_t> free;
    std::ranges::copy_if(climb_->left, std::back_inserter(free),
                         [&](std::size_t place) { return !taken_.contains(all[place].identity); });
    const std::size_t place = (id - climb_->told_before) % all.size();
    if (std::ranges::binary_search(free, place)) return all[place].genome;
    Rng rng = rng_.split(id);
    if (!free.empty()) return all[free[rng.below(free.size())]].genome;
    return first_new([&] { return perturbed(space_, climb_->top.genome, rng); }, rng);
  }

  // Draws until a genome is neither told nor expected, a few times at most; then mutates it.
  template <typename Draw>
  Genome first_new(const Draw& draw, Rng& rng) const {
    Genome genome = draw();
    for (int i = 1; i < kMostStarts && taken_.contains(space_.identity(genome)); ++i)
      genome = draw();
    return mutated_until_unseen(space_, std::move(genome), taken_, rng);
  }

  // Learns trial number `count` of those that were told.
  void learn(const EvaluatedGenome& told, std::size_t count) {
    losses_[told.identity] = told.loss;
    if (!climb_) {
      start_with(told, count);
    } else if (is_better(told, climb_->top)) {
      move_to(told, count);
    } else {
      cross_out(told, count);
    }
  }

  void start_with(const EvaluatedGenome& told, std::size_t count) {
    if (!told.loss.is_measured()) return;
    starts_.push_back(told);
    if (starts_.size() < options_.startup) return;
    const EvaluatedGenome top = *std::ranges::min_element(starts_, is_better);
    starts_.clear();
    stand_on({.top = top, .step = options_.step, .told_before = count});
  }

  void move_to(const EvaluatedGenome& told, std::size_t count) {
    const double step = std::min(climb_->step * kGrow, options_.step);
    Climb next{
        .top = told, .step = step, .told_before = count, .failed_changes = climb_->failed_changes};
    const auto at = climb_->place.find(told.identity);
    if (at != climb_->place.end()) next.successful_change = climb_->neighbours[at->second].change;
    stand_on(std::move(next));
  }

  void cross_out(const EvaluatedGenome& told, std::size_t count) {
    const auto at = climb_->place.find(told.identity);
    if (at == climb_->place.end()) return;
    std::erase(climb_->left, at->second);
    climb_->failed_changes[climb_->neighbours[at->second].change] = count;
    if (!climb_->left.empty()) return;
    stand_on({.top = climb_->top,
              .step = climb_->step * kShrink,
              .told_before = count,
              .successful_change = climb_->successful_change,
              .failed_changes = climb_->failed_changes});
  }

  // Continues from this top, or from the end of the improvements that are known from there;
  // restarts if nothing is left to try.
  void stand_on(Climb climb) {
    while (climb.step >= options_.smallest) {
      if (const auto better = look_around(climb)) {
        climb.top = *better;
        continue;
      }
      if (!climb.left.empty()) {
        climb_ = std::move(climb);
        return;
      }
      climb.step *= kShrink;
    }
    climb_.reset();
  }

  // Fills `neighbours` and `left`. Returns the best neighbour that is known to be better, if there
  // is one.
  std::optional<EvaluatedGenome> look_around(Climb& climb) const {
    climb.neighbours.clear();
    climb.place.clear();
    std::optional<EvaluatedGenome> best;
    for (Neighbour& neighbour : neighbours_of(climb)) {
      if (neighbour.identity == climb.top.identity || climb.place.contains(neighbour.identity))
        continue;
      if (const auto known = losses_.find(neighbour.identity); known != losses_.end()) {
        const EvaluatedGenome told{neighbour.genome, neighbour.identity, known->second};
        if (is_better(told, best.value_or(climb.top))) best = told;
        continue;
      }
      climb.place.emplace(neighbour.identity, climb.neighbours.size());
      climb.neighbours.push_back(std::move(neighbour));
    }
    climb.left.resize(climb.neighbours.size());
    std::iota(climb.left.begin(), climb.left.end(), std::size_t{0});
    return best;
  }

  // Returns the neighbours in the order they are tried: the change that led here, then new changes,
  // then those that failed.
  std::vector<Neighbour> neighbours_of(const Climb& climb) const {
    Rng rng =
        rng_.split(kNeighbours)
            .split(hash_combine(climb.top.identity, std::bit_cast<std::uint64_t>(climb.step)));
    const std::vector<bool> counts = space_.expressed(climb.top.genome);
    std::vector<Neighbour> all;
    for (std::size_t i = 0; i < space_.size(); ++i) {
      if (counts[i]) add_neighbours(climb, i, rng, all);
    }
    rng.shuffle(std::span(all));
    std::ranges::stable_sort(all, {}, [&](const Neighbour& neighbour) -> std::size_t {
      if (neighbour.change == climb.successful_change) return 0;
      const auto at = climb.failed_changes.find(neighbour.change);
      return at == climb.failed_changes.end() ? 1 : 1 + at->second;
    });
    return all;
  }

  void add_neighbours(const Climb& climb, std::size_t index, Rng& rng,
                      std::vector<Neighbour>& all) const {
    const Domain& domain = space_.domains()[index];
    const double code = climb.top.genome.codes()[index];
    const auto add = [&](double next, std::uint64_t direction) {
      if (next == code) return;
      std::vector<double> codes(climb.top.genome.codes().begin(), climb.top.genome.codes().end());
      codes[index] = next;
      Genome genome = space_.repair(std::move(codes), rng);
      const std::uint64_t identity = space_.identity(genome);
      all.push_back({std::move(genome), identity, hash_combine(index, direction)});
    };
    if (!is_range(domain)) {
      for (std::uint64_t i = 0; static_cast<double>(i) < domain.cardinality(); ++i)
        add(code_of_value(domain, i), i);
      return;
    }
    add(stepped(domain, code, std::abs(rng.normal()) * climb.step), 1);
    add(stepped(domain, code, -std::abs(rng.normal()) * climb.step), 0);
  }

  const Space space_;
  const Rng rng_;
  const Direction direction_;
  const LocalOptions options_;
  History<EvaluatedGenome> history_;
  std::unordered_map<std::uint64_t, RankedLoss> losses_;  // told, by identity
  std::unordered_set<std::uint64_t> taken_;               // identities of what was told or expected
  std::vector<EvaluatedGenome> starts_;                   // since the last climb ended
  std::optional<Climb> climb_;                            // nullopt: collecting starts
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_local(const Space& space, const SearcherSettings& settings) {
  OptionReader reader("local", settings.options);
  const std::int64_t startup = reader.whole("startup", 5, 1, 10'000);
  const LocalOptions options{.startup = static_cast<std::size_t>(startup),
                             .step = reader.real("step", 0.2, 1e-6, 1),
                             .smallest = reader.real("smallest", 0.001, 1e-9, 1)};
  DETOL_TRY(reader.done());
  return std::make_unique<Local>(space, settings, options);
}

}  // namespace detol::inline search

#include "search/starting_list.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/rng.h"
#include "search/outcome_value.h"
#include "search/source_models.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kBestOfSource = 30;   // trials of a source that may be listed
constexpr std::size_t kMostCompared = 500;  // trials of a source among which ranks are taken
constexpr double kLeastGain = 0.005;

// Returns the share of `sorted` above x.
double share_above(const std::vector<double>& sorted, double x) {
  const auto above = sorted.end() - std::ranges::upper_bound(sorted, x);
  return static_cast<double>(above) / static_cast<double>(sorted.size());
}

class Ranks {
 public:
  Ranks(const Space& space, std::span<const MappedSource> sources, std::uint64_t seed)
      : features_(space), models_(space, sources, 1, seed), predicted_(sources.size()) {
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const std::size_t step = (sources[s].trials.size() - 1) / kMostCompared + 1;
      for (std::size_t i = 0; i < sources[s].trials.size(); i += step)
        predicted_[s].push_back(models_.means(0, features_.of(sources[s].trials[i].genome)).at(s));
      std::ranges::sort(predicted_[s]);
    }
  }

  // Returns the genome's rank in each source.
  std::vector<double> operator()(const Genome& genome) const {
    std::vector<double> ranks = models_.means(0, features_.of(genome));
    for (std::size_t s = 0; s < ranks.size(); ++s) ranks[s] = share_above(predicted_[s], ranks[s]);
    return ranks;
  }

 private:
  Features features_;
  SourceModels models_;
  std::vector<std::vector<double>> predicted_;  // by source, sorted
};

double gain_of(const std::vector<double>& ranks, const std::vector<double>& best) {
  double gain = 0;
  for (std::size_t s = 0; s < best.size(); ++s) gain += std::max(0.0, ranks[s] - best[s]);
  return gain / static_cast<double>(best.size());
}

// Returns the source of the search's own data whose best trial is the best of all of them; its
// number is that of the sources if there is none.
std::size_t best_of_same_data(std::span<const MappedSource> sources) {
  std::size_t best = sources.size();
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (!sources[s].has_same_data) continue;
    const auto loss_of = [&](std::size_t i) { return sources[i].trials.front().losses.front(); };
    if (best == sources.size() || loss_of(s) < loss_of(best)) best = s;
  }
  return best;
}

class WithStartingList final : public Searcher {
 public:
  WithStartingList(std::unique_ptr<Searcher> searcher, Space space, Direction direction,
                   std::vector<Genome> list)
      : searcher_(std::move(searcher)),
        space_(std::move(space)),
        direction_(direction),
        list_(std::move(list)) {
    for (const Genome& genome : list_) identities_.push_back(space_.identity(genome));
  }

  std::vector<Trial> ask(TrialId first_id, int count) override {
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
      const TrialId id = first_id + static_cast<TrialId>(i);
      for (Trial& trial : propose(id)) {
        expect(trial);
        trials.push_back(std::move(trial));
      }
    }
    return trials;
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    see(trial);
    if (trial.id < 2 * list_.size())
      told_[trial.id] = {is_listed(trial), ranked_loss(outcome, direction_)};
    searcher_->tell(trial, outcome);
  }

  void expect(const Trial& trial) override {
    see(trial);
    searcher_->expect(trial);
  }

  std::optional<RefitJob> background() override { return searcher_->background(); }
  double trust_in_sources() override { return searcher_->trust_in_sources(); }
  std::optional<Explanation> explain(const Trial& trial) override {
    return searcher_->explain(trial);
  }
  void absorb(const Refit& refit) override { searcher_->absorb(refit); }

 private:
  struct Told {
    bool is_listed = false;
    RankedLoss loss = {};
  };

  std::vector<Trial> propose(TrialId id) {
    const bool has_turn = id % 2 == 0 && id / 2 < list_.size();
    if (has_turn && !known_.contains(identities_[id / 2]) && is_list_ahead())
      return {{id, list_[id / 2], std::string(kStartingListProposer)}};
    return searcher_->ask(id, 1);
  }

  void see(const Trial& trial) {
    if (is_listed(trial)) known_.insert(space_.identity(trial.genome));
  }

  bool is_listed(const Trial& trial) const {
    return std::ranges::find(identities_, space_.identity(trial.genome)) != identities_.end();
  }

  // Returns true if no told trial is better than all told ones of the list.
  bool is_list_ahead() const {
    const Told* best = nullptr;
    bool is_list_told = false;
    for (const auto& [trial, told] : told_) {
      is_list_told = is_list_told || told.is_listed;
      if (best == nullptr || told.loss < best->loss) best = &told;
    }
    return !is_list_told || best->is_listed;
  }

  const std::unique_ptr<Searcher> searcher_;
  const Space space_;
  const Direction direction_;
  const std::vector<Genome> list_;
  std::vector<std::uint64_t> identities_;    // of the list
  std::unordered_set<std::uint64_t> known_;  // identities of listed trials, expected or told
  std::map<TrialId, Told> told_;             // until the list's last turn
};

}  // namespace

std::vector<Genome> starting_list(const Space& space, std::span<const MappedSource> sources,
                                  std::uint64_t seed) {
  if (sources.empty()) return {};
  if (sources.size() == 1) return {sources.front().trials.front().genome};
  const Ranks ranks_of(space, sources, seed);
  std::vector<const Genome*> candidates;
  std::vector<std::vector<double>> ranks;
  std::vector<std::size_t> first_of;  // of each source's candidates
  for (const MappedSource& source : sources) {
    first_of.push_back(candidates.size());
    const std::size_t count = std::min(source.trials.size(), kBestOfSource);
    for (const SourceTrial& trial : std::span(source.trials).first(count)) {
      candidates.push_back(&trial.genome);
      ranks.push_back(ranks_of(trial.genome));
    }
  }
  std::vector<Genome> list;
  std::vector<double> best(sources.size(), 0);
  const auto add = [&](std::size_t i) {
    list.push_back(*candidates[i]);
    for (std::size_t s = 0; s < best.size(); ++s) best[s] = std::max(best[s], ranks[i][s]);
  };
  if (const std::size_t own = best_of_same_data(sources); own < sources.size()) add(first_of[own]);
  while (list.size() < kMostListed) {
    const auto next = std::ranges::max_element(
        ranks, {}, [&](const std::vector<double>& each) { return gain_of(each, best); });
    if (gain_of(*next, best) < kLeastGain) break;
    add(static_cast<std::size_t>(next - ranks.begin()));
  }
  return list;
}

std::unique_ptr<Searcher> with_starting_list(std::unique_ptr<Searcher> searcher, const Space& space,
                                             const SearcherSettings& settings) {
  const std::vector<MappedSource> sources = mapped_sources(space, settings);
  if (sources.empty()) return searcher;
  std::vector<Genome> list = starting_list(space, sources, settings.seed);
  return std::make_unique<WithStartingList>(std::move(searcher), space,
                                            settings.objectives.front().direction, std::move(list));
}

}  // namespace detol::inline search

#include "search/searchers.h"

#include <array>

#include "core/table.h"
#include "search/starting_list.h"

namespace detol::inline search {
namespace {

constexpr std::array kSearchers = {
    SearcherRow{"random", "uniform draws; the baseline every other searcher must beat",
                make_random},
    SearcherRow{"sobol", "scrambled Sobol points: as random, but every choice is tried evenly",
                make_sobol},
    SearcherRow{"design", "of a few Sobol points the one least like all trials so far, to explore",
                make_design},
    SearcherRow{"evolution",
                "regularised evolution: mutate the best of a sample, retire the oldest",
                make_evolution},
    SearcherRow{"genetic", "cross the winners of two tournaments, mutate, keep the best",
                make_genetic},
    SearcherRow{"nsga2", "several objectives: cross and mutate trials of the best fronts",
                make_nsga2},
    SearcherRow{"local", "climb: try the neighbours of the best, move at the first improvement",
                make_local},
    SearcherRow{
        "tpe", "Tree-structured Parzen Estimator: samples near good trials (Bergstra et al., 2011)",
        make_tpe},
    SearcherRow{"reinforce",
                "a recurrent controller samples the choices one by one; PPO learns which pay",
                make_reinforce},
    SearcherRow{"qlearning", "Q-learning over the choices, epsilon-greedy, with replay (MetaQNN)",
                make_qlearning},
    SearcherRow{"cgp", "(1 + lambda): one parent, replaced by any child as good; neutral drift",
                make_cgp},
    SearcherRow{"gp", "Bayesian optimisation with a lazy Gaussian process", make_gp},
    SearcherRow{"portfolio", "a bandit over several algorithms that share their results",
                make_portfolio},
};

}  // namespace

std::span<const SearcherRow> searchers() {
  return kSearchers;
}

Result<std::unique_ptr<Searcher>> make_searcher(std::string_view name, const Space& space,
                                                const SearcherSettings& settings) {
  const SearcherRow* row = find_row(searchers(), name);
  if (row == nullptr)
    return fail(ErrorCode::kUsage, unknown_name("algorithm", name, names_of(searchers())));
  if (settings.objectives.empty())
    return fail(ErrorCode::kInput, "a search needs at least one objective; add one to objectives");
  DETOL_ASSIGN(auto searcher, row->make(space, settings));
  if (settings.sources.empty()) return searcher;
  return with_starting_list(std::move(searcher), space, settings);
}

}  // namespace detol::inline search

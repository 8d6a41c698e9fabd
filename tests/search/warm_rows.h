#pragma once

// Cases of the contract tests with sources: rows whose searchers start from two earlier studies, of
// the space itself and of another one that shares some of its choices.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.h"
#include "tests/search/searcher_contract.h"

namespace detol::testing_support {

// Returns a study of random trials with their losses, or with the negated losses where the
// objective is maximised.
inline Source random_source(const std::string& name, const Space& space, int trials,
                            const Objective& objective) {
  Source source{.name = name, .space = space, .history = {}};
  Rng rng(17);
  for (int i = 0; i < trials; ++i) {
    const Genome genome = space.sample(rng);
    const double loss = loss_of(space, genome);
    const bool is_loss = objective.direction == Direction::kMinimize;
    source.history.emplace_back(genome, Measured{.values = {is_loss ? loss : -loss}});
  }
  source.history.emplace_back(space.sample(rng), Failed{.cause = Cause::kDiverged});
  return source;
}

inline constexpr std::array kWarmNames = {"gp", "portfolio", "evolution", "reinforce", "qlearning"};

template <std::size_t kName>
Result<std::unique_ptr<Searcher>> make_warm(const Space& space, const SearcherSettings& settings) {
  SearcherSettings warm = settings;
  const Space other =
      SpaceBuilder().add_int("depth", 2, 5).add_float("lr", 1e-3, 2).build().value();
  warm.sources = {random_source("same", space, 12, settings.objectives.front()),
                  random_source("other", other, 8, settings.objectives.front())};
  return make_searcher(kWarmNames[kName], space, warm);
}

template <std::size_t... kNames>
std::vector<Case> warm_cases(std::index_sequence<kNames...>) {
  std::vector<Case> cases;
  for (const char* space : {"conditional", "structured"})
    (cases.push_back(
         {{kWarmNames[kNames], "with sources", make_warm<kNames>}, {space, space_named(space)}}),
     ...);
  return cases;
}

inline std::vector<Case> warm_cases() {
  return warm_cases(std::make_index_sequence<kWarmNames.size()>());
}

}  // namespace detol::testing_support

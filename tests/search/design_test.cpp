#include <array>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "search/searcher.h"

namespace detol {
namespace {

// Sixteen choices, of which the network shows three: there are eight graphs.
Space space_of_eight_graphs() {
  SpaceBuilder builder;
  for (int i = 0; i < 16; ++i) builder.add_bool("choice" + std::to_string(i));
  return builder.build().value().with_graph([](std::span<const double> codes) {
    const auto label = [&](std::size_t i) {
      return static_cast<std::uint64_t>(10 * i + static_cast<std::size_t>(codes[i]));
    };
    return LabelledGraph{.labels = {1, label(5), label(9), label(15), 2},
                         .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}}};
  });
}

std::unique_ptr<Searcher> design_of(const Space& space, std::uint64_t seed,
                                    std::map<std::string, std::string> options = {}) {
  return make_searcher("design", space,
                       {.seed = seed, .objectives = {minimize("loss")}, .options = options})
      .value();
}

TEST(Design, TriesNetworksThatDifferFirst) {
  const Space space = space_of_eight_graphs();
  int graphs_tried = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::set<std::array<double, 3>> graphs;
    for (const Trial& trial : design_of(space, seed, {{"candidates", "64"}})->ask(0, 8)) {
      const auto& codes = trial.genome.codes();
      graphs.insert({codes[5], codes[9], codes[15]});
    }
    graphs_tried += static_cast<int>(graphs.size());
  }
  EXPECT_EQ(graphs_tried, 20 * 8);
}

TEST(Design, TriesTheSameCandidatesWhateverTheirOutcomes) {
  const Space space = space_of_eight_graphs();
  const auto told = design_of(space, 3);
  for (TrialId id = 0; id < 20; id += 2) {
    for (const Trial& trial : told->ask(id, 2))
      told->tell(trial, Measured{.values = {std::sin(static_cast<double>(trial.id))}});
  }
  const auto untold = design_of(space, 3);
  untold->ask(0, 20);
  EXPECT_EQ(told->ask(20, 1).at(0).genome, untold->ask(20, 1).at(0).genome);
}

TEST(Design, OfASpaceWithoutGraphsIsSobolsSequence) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
  const auto sobol =
      make_searcher("sobol", space, {.seed = 5, .objectives = {minimize("loss")}, .options = {}})
          .value();
  const auto points = sobol->ask(0, 30), design = design_of(space, 5)->ask(0, 30);
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_EQ(points[i].genome, design[i].genome) << i;
}

}  // namespace
}  // namespace detol

#pragma once

// Runs of searchers on a numeric function, for the tests of single searchers.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "search/searcher.h"

namespace detol::testing_support {

inline double sphere(const Genome& genome) {
  double sum = 0;
  for (double x : genome.codes()) sum += x * x;
  return sum;
}

// Returns the least value of the five-dimensional sphere that `trials` trials found.
inline double best_on_sphere(std::string_view name, std::uint64_t seed, TrialId trials) {
  SpaceBuilder builder;
  for (const char* axis : {"x0", "x1", "x2", "x3", "x4"}) builder.add_float(axis, -5, 10);
  const auto searcher =
      make_searcher(name, builder.build().value(),
                    {.seed = seed, .objectives = {minimize("loss")}, .options = {}})
          .value();
  double best = std::numeric_limits<double>::infinity();
  for (TrialId id = 0; id < trials; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    const double loss = sphere(trial.genome);
    best = std::min(best, loss);
    searcher->tell(trial, Measured{.values = {loss}});
  }
  return best;
}

inline double median_on_sphere(std::string_view name, TrialId trials = 100) {
  std::vector<double> best;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    best.push_back(best_on_sphere(name, seed, trials));
  std::ranges::sort(best);
  return (best[4] + best[5]) / 2;
}

}  // namespace detol::testing_support

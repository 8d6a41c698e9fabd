// Searchers where most of a space breaks a constraint.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/searcher.h"

namespace detol {
namespace {

constexpr TrialId kTrials = 60;

struct Search {
  double best = INFINITY;  // loss of the best trial that keeps the constraint
  double feasible = 0;     // share of the later half that exceeds it by a hundredth at most
};

// The best of the bowl, at (0.2, 0.3), breaks the constraint, as do 72 % of the square; the best
// that keeps it lies on the edge of a disc about (0.65, 0.65).
Measured disc(const Genome& genome) {
  const double x = genome.number("x"), y = genome.number("y");
  const double bowl = std::pow(x - 0.2, 2) + std::pow(y - 0.3, 2);
  const double radius = std::hypot(x - 0.65, y - 0.65);
  return {.values = {bowl}, .excesses = {radius / 0.3 - 1}};
}
const double kOptimum = std::pow(std::hypot(0.45, 0.35) - 0.3, 2);

Search search(std::string_view name, std::uint64_t seed) {
  const Space square = SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
  const auto searcher =
      make_searcher(
          name, square,
          {.seed = seed, .objectives = {minimize("loss")}, .options = {}, .constraints = 1})
          .value();
  Search result;
  for (TrialId id = 0; id < kTrials; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    const Measured outcome = disc(trial.genome);
    searcher->tell(trial, outcome);
    const double excess = outcome.excesses.front();
    if (excess <= 0) result.best = std::min(result.best, outcome.values.front());
    if (excess <= 0.01 && 2 * id >= kTrials) result.feasible += 2.0 / kTrials;
  }
  return result;
}

struct Median {
  double regret, feasible;
};

Median median_of(std::string_view name) {
  std::vector<double> regrets, shares;
  for (std::uint64_t seed = 1; seed <= 9; ++seed) {
    const Search one = search(name, seed);
    regrets.push_back(one.best - kOptimum);
    shares.push_back(one.feasible);
  }
  std::ranges::sort(regrets);
  std::ranges::sort(shares);
  return {regrets[4], shares[4]};
}

class ConstrainedSearch : public testing::TestWithParam<std::string_view> {};

TEST_P(ConstrainedSearch, TriesMoreOfWhatKeepsTheConstraintThanDrawsDo) {
  EXPECT_GT(median_of(GetParam()).feasible, 0.4);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> names;
  for (const SearcherRow& row : searchers()) {
    if (row.name != "random" && row.name != "sobol" && row.name != "design")
      names.push_back(row.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, ConstrainedSearch, testing::ValuesIn(names()),
                         [](const auto& info) { return std::string(info.param); });

// Above 0.9 it is exceeded without limit, as where a metric is missing.
TEST_P(ConstrainedSearch, GoesToTheLeastViolationWhereNothingKeepsTheConstraint) {
  const Space line = SpaceBuilder().add_float("x", 0, 1).build().value();
  const auto searcher =
      make_searcher(GetParam(), line,
                    {.seed = 3, .objectives = {maximize("gain")}, .options = {}, .constraints = 1})
          .value();
  double sum = 0;
  for (TrialId id = 0; id < 2 * kTrials; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    const double x = trial.genome.number("x");
    searcher->tell(trial, Measured{.values = {x}, .excesses = {x > 0.9 ? INFINITY : 1 + x}});
    if (id >= kTrials) sum += x;
  }
  EXPECT_LT(sum / kTrials, 0.4);
}

TEST(ConstrainedSearchRegret, IsFarBelowThatOfDrawsWhereModelsAndClimbsSearch) {
  const double random = median_of("random").regret;
  EXPECT_LT(median_of("gp").regret, random / 100);
  EXPECT_LT(median_of("portfolio").regret, random / 100);
  EXPECT_LT(median_of("local").regret, random / 3);
  EXPECT_LT(median_of("tpe").regret, random / 3);
}

// Every x is on the front.
TEST(ConstrainedSearchRegret, OfSeveralObjectivesTheFrontKeepsTheConstraints) {
  const Space square = SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
  for (const char* name : {"gp", "nsga2", "portfolio"}) {
    const auto searcher = make_searcher(name, square,
                                        {.seed = 4,
                                         .objectives = {maximize("x"), minimize("x squared")},
                                         .options = {},
                                         .constraints = 1})
                              .value();
    int feasible = 0;
    for (TrialId id = 0; id < kTrials; ++id) {
      const Trial trial = searcher->ask(id, 1).at(0);
      const double x = trial.genome.number("x");
      const double excess = disc(trial.genome).excesses.front();
      searcher->tell(trial, Measured{.values = {x, x * x}, .excesses = {excess}});
      feasible += 2 * id >= kTrials && excess <= 0 ? 1 : 0;
    }
    EXPECT_GT(feasible, 12) << name;  // of 30; about 8 of draws
  }
}

}  // namespace
}  // namespace detol

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/searcher.h"
#include "tests/search/runs.h"

namespace detol {
namespace {

struct Point {
  double first, second;
};

// ZDT1 (Zitzler, Deb and Thiele, 2000).
Point zdt1(const Genome& genome) {
  double rest = 0;
  for (double x : genome.codes().subspan(1)) rest += x;
  const double g = 1 + 9 * rest / static_cast<double>(genome.codes().size() - 1);
  const double first = genome.codes()[0];
  return {first, g * (1 - std::sqrt(first / g))};
}

// The area between the points and (11, 11) that some point dominates.
double hypervolume(std::vector<Point> points) {
  std::ranges::sort(points, {}, &Point::first);
  double area = 0, height = 11;
  for (const Point& point : points) {
    if (point.second >= height) continue;
    area += (11 - point.first) * (height - point.second);
    height = point.second;
  }
  return area;
}

std::unique_ptr<Searcher> make(std::string_view name, const Space& space, std::uint64_t seed,
                               std::map<std::string, std::string> options = {}) {
  return make_searcher(name, space,
                       {.seed = seed,
                        .objectives = {minimize("first"), minimize("second")},
                        .options = std::move(options)})
      .value();
}

double hypervolume_on_zdt1(std::string_view name, std::uint64_t seed) {
  SpaceBuilder builder;
  for (int i = 0; i < 10; ++i) builder.add_float("x" + std::to_string(i), 0, 1);
  const auto searcher = make(name, builder.build().value(), seed);
  std::vector<Point> found;
  for (TrialId id = 0; id < 300; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    found.push_back(zdt1(trial.genome));
    searcher->tell(trial, Measured{.values = {found.back().first, found.back().second}});
  }
  return hypervolume(std::move(found));
}

TEST(Nsga2, CoversMoreThanRandom) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_GT(hypervolume_on_zdt1("nsga2", seed), hypervolume_on_zdt1("random", seed) + 5);
}

TEST(Nsga2, WorksWithOneObjective) {
  constexpr TrialId kTrials = 300;  // its first population is 50 uniform draws
  EXPECT_LT(testing_support::median_on_sphere("nsga2", kTrials),
            0.7 * testing_support::median_on_sphere("random", kTrials));
}

// Two choices of a thousand words.
Space words() {
  std::vector<std::string> thousand;
  for (int i = 0; i < 1000; ++i) thousand.push_back(std::to_string(i));
  return SpaceBuilder()
      .add_categorical("a", thousand)
      .add_categorical("b", thousand)
      .build()
      .value();
}

Trial both(const Space& space, TrialId id) {
  const std::vector<std::pair<std::string, Value>> values = {{"a", std::to_string(id)},
                                                             {"b", std::to_string(id)}};
  return {id, space.genome(values).value()};
}

// Tells the i-th outcome for trial i, with a population of 4; returns the words of the children.
std::set<double> parents_after(const std::vector<Outcome>& outcomes) {
  const Space space = words();
  const auto searcher = make("nsga2", space, 3, {{"population", "4"}, {"startup", "2"}});
  for (TrialId id = 0; id < outcomes.size(); ++id) searcher->tell(both(space, id), outcomes[id]);
  std::map<double, int> count;
  for (const Trial& child : searcher->ask(1000, 100)) {
    for (double code : child.genome.codes()) ++count[code];
  }
  std::set<double> codes;
  for (const auto& [code, times] : count) {
    if (times >= 4) codes.insert(code);  // mutation alone gives fewer
  }
  return codes;
}

Measured at(double first, double second) {
  return {.values = {first, second}};
}

TEST(Nsga2, TheDominatedLeave) {
  EXPECT_EQ(parents_after({at(1, 4), at(3, 3), at(2, 2), at(4, 1), at(1.5, 3)}),
            (std::set<double>{0, 2, 3, 4}));
}

TEST(Nsga2, OfOneFrontTheMostCrowdedLeaves) {
  EXPECT_EQ(parents_after({at(0, 10), at(5, 5), at(5.5, 4.5), at(10, 0), at(6, 3)}),
            (std::set<double>{0, 1, 3, 4}));
}

// Shares of the front's widths between the neighbours, by both objectives: of trial 1 0.2 + 0.5, of
// trial 2 0.8 + 0.4, of trial 3 0.8 + 0.5. By the second objective alone trial 2 would leave.
TEST(Nsga2, TheMostCrowdedIsSoByAllObjectives) {
  EXPECT_EQ(parents_after({at(0, 10), at(1, 8), at(2, 5), at(9, 4), at(10, 0)}),
            (std::set<double>{0, 2, 3, 4}));
}

TEST(Nsga2, AFailedTrialLosesAgainstTheWorstMeasured) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(parents_after({at(0, 0), Failed{.cause = Cause::kTooLarge}, at(9, 9), at(nan, 0),
                           Measured{.values = {1}}}),
            (std::set<double>{0, 2}));
}

TEST(Nsga2, EitherDirectionCounts) {
  const Space space = words();
  const auto searcher = make_searcher("nsga2", space,
                                      {.seed = 3,
                                       .objectives = {maximize("accuracy"), minimize("size")},
                                       .options = {{"population", "4"}, {"startup", "2"}}})
                            .value();
  const std::vector<Measured> values = {at(.9, 3), at(.8, 2), at(.7, 1), at(.6, 4), at(.95, 5)};
  for (TrialId id = 0; id < values.size(); ++id) searcher->tell(both(space, id), values[id]);
  int of_the_dominated = 0;
  for (const Trial& child : searcher->ask(1000, 100)) {
    for (double code : child.genome.codes()) of_the_dominated += code == 3 ? 1 : 0;
  }
  EXPECT_LT(of_the_dominated, 4);
}

TEST(Nsga2, WhatBreaksAConstraintLeavesFirst) {
  const auto exceeding = [](double first, double second, double excess) {
    return Measured{.values = {first, second}, .excesses = {excess}};
  };
  EXPECT_EQ(parents_after({exceeding(9, 8, -1), exceeding(0, 0, 0.3), exceeding(1, 1, 0.2),
                           exceeding(8, 9, 0), exceeding(2, 2, 0.1)}),
            (std::set<double>{0, 2, 3, 4}));
}

}  // namespace
}  // namespace detol

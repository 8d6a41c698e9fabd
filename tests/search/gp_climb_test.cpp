#include "search/gp_climb.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "search/gp_candidates.h"
#include "search/gp_explanation.h"
#include "tests/search/modelled_square.h"

namespace detol {
namespace {

// A model of a loss that falls as x grows, so that the acquisition grows with x.
ModelledSquare falling() {
  ModelledSquare slope;
  Rng rng(3);
  for (int i = 0; i < 12; ++i) {
    const Genome genome = slope.space.sample(rng);
    slope.add(genome, -genome.number("x"));
  }
  slope.fit();
  return slope;
}

TEST(GpClimber, ClimbsNoFurtherThanItsRegion) {
  const ModelledSquare slope = falling();
  ProposalInput input = slope.input();
  input.acquisition = GpAcquisition::kBound;
  const GpScorer scorer(input);
  const Genome middle = slope.space.at(std::vector{0.5, 0.5});
  const Scored start = scorer.score({middle}).front();
  Rng rng(1);
  const GpRegion region{.low = {0.4, 0.4}, .high = {0.6, 0.6}};
  GpNeighbourhoods neighbourhoods(input);
  const Scored held = GpClimber(input, scorer, neighbourhoods, &region, rng)(start);
  const Scored free = GpClimber(input, scorer, neighbourhoods, nullptr, rng)(start);
  EXPECT_NEAR(held.genome.number("x"), 0.6, 1e-6);
  EXPECT_GE(held.genome.number("y"), 0.4);
  EXPECT_LE(held.genome.number("y"), 0.6);
  EXPECT_GT(free.genome.number("x"), 0.8);
  EXPECT_GT(free.value, held.value);
}

TEST(GpClimber, StopsWhereTrialsFail) {
  ModelledSquare slope = falling();
  Rng draws(5);
  for (int i = 0; i < 60; ++i) {
    const Genome genome = slope.space.sample(draws);
    slope.failures.tell(slope.features->of(genome), genome.number("x") > 0.7);
  }
  slope.failures.update();
  ProposalInput input = slope.input();
  input.acquisition = GpAcquisition::kBound;
  const GpScorer scorer(input);
  std::vector<Scored> start = scorer.score({slope.space.at(std::vector{0.5, 0.5})});
  scorer.add_chances(start);
  Rng rng(1);
  GpNeighbourhoods neighbourhoods(input);
  const Scored top = GpClimber(input, scorer, neighbourhoods, nullptr, rng)(start.front());
  EXPECT_GT(top.genome.number("x"), 0.5);
  EXPECT_LT(top.genome.number("x"), 0.75);
}

TEST(GpRegion, IsAsWideAsItsSideAroundTheBestAndHasAllItsCandidates) {
  const ModelledSquare slope = falling();
  const ProposalInput input = slope.input(0.2);
  Rng rng(1);
  const GpRegion region = region_of(input, rng);
  const auto by_x = [](const Genome& genome) { return genome.number("x"); };
  const Genome& best = *std::ranges::max_element(slope.genomes, {}, by_x);
  EXPECT_EQ(slope.genomes[region.centre], best);
  for (const char* name : {"x", "y"}) {
    const std::size_t i = *slope.space.index_of(name);
    EXPECT_LE(region.low[i], best.number(name));
    EXPECT_GE(region.high[i], best.number(name));
    EXPECT_LE(region.high[i] - region.low[i], 0.2 + 1e-12);
    for (const Genome& candidate : candidates_in(region, input, rng)) {
      EXPECT_GE(candidate.number(name), region.low[i] - 1e-12);
      EXPECT_LE(candidate.number(name), region.high[i] + 1e-12);
    }
  }
}

// Lengths of 0.25 and 1, whose geometric mean is 0.5: sides of half and of twice 0.2.
TEST(GpRegion, IsLongerWhereTheLossChangesLessButNotLarger) {
  ModelledSquare square;
  Rng rng(4);
  for (int i = 0; i < 10; ++i) square.add(square.space.sample(rng), 1);
  square.add(square.space.at(std::vector{0.5, 0.5}), 0);
  square.fit(std::vector{0.25, 1.0});
  const GpRegion region = region_of(square.input(0.2), rng);
  EXPECT_NEAR(region.high[0] - region.low[0], 0.1, 1e-9);
  EXPECT_NEAR(region.high[1] - region.low[1], 0.4, 1e-9);
}

// Its outcomes are not transformed, so that the units are those of the model.
TEST(GpExplanation, HasTheMeanAndTheStandardDeviationOfTheModel) {
  const ModelledSquare square = falling();
  Points at = square.features->empty_points();
  at.push_back(square.features->of(square.space.at(std::vector{0.35, 0.8})));
  const Prediction predicted = square.model.predict(0, at).front();
  const Objective objectives[] = {maximize("gain")};
  const Explanation said = explained(square.model, GpAcquisition::kImprovement, at, objectives);
  EXPECT_NEAR(said.predictions.front().value, -predicted.mean, 1e-12);
  EXPECT_NEAR(said.predictions.front().deviation, std::sqrt(predicted.variance), 1e-12);
}

Space switches_with_numbers(int count) {
  SpaceBuilder builder;
  for (int i = 0; i < count; ++i) {
    const std::string on = "o" + std::to_string(i);
    builder.add_bool(on).add_float("x" + std::to_string(i), 0, 1, {.when = {on, {Value(true)}}});
  }
  return builder.build().value();
}

TEST(GpCandidates, AreFewerWhereThousandsOfColumnsMakeEachExpensive) {
  const Features ordinary(switches_with_numbers(128));  // 512 columns
  EXPECT_EQ(affordable_candidates(1000, ordinary), 1000u);
  EXPECT_EQ(affordable_candidates(60, ordinary), 60u);
  const Features many(switches_with_numbers(512));  // 2,048
  EXPECT_EQ(affordable_candidates(1000, many), 250u);
  EXPECT_EQ(affordable_candidates(40, many), 16u);
  EXPECT_EQ(affordable_candidates(5, many), 5u);
}

}  // namespace
}  // namespace detol

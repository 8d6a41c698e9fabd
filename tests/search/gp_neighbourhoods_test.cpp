#include "search/gp_neighbourhoods.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "search/gp_candidates.h"
#include "tests/search/modelled_square.h"

namespace detol {
namespace {

double loss_of(const Genome& genome) {
  const double x = genome.number("x") - 0.3, y = genome.number("y") - 0.6;
  return x * x + y * y + 0.02 * std::sin(20 * x);
}

// A model of `count` observations.
ModelledSquare history(std::size_t count) {
  ModelledSquare told;
  Rng rng(3);
  for (std::size_t i = 0; i < count; ++i) {
    const Genome genome = told.space.sample(rng);
    told.add(genome, loss_of(genome));
  }
  told.fit(std::vector{0.2, 0.2});
  return told;
}

constexpr std::size_t kMany = 1100;  // observations: more than the whole model is used for alone

TEST(GpNeighbourhoods, AreNoneWhereTheWholeModelIsSmall) {
  const ModelledSquare few = history(50);
  const ProposalInput input = few.input();
  GpNeighbourhoods neighbourhoods(input);
  EXPECT_TRUE(neighbourhoods.around(few.genomes[0]).empty());
}

TEST(GpNeighbourhoods, PredictAtTheirCentreWhatTheWholeModelDoes) {
  const ModelledSquare many = history(kMany);
  const ProposalInput input = many.input();
  GpNeighbourhoods neighbourhoods(input);
  const Genome centre = many.space.at(std::vector{0.4, 0.5});
  const std::span<const LazyGp> nearby = neighbourhoods.around(centre);
  ASSERT_EQ(nearby.size(), 1u);
  EXPECT_LT(nearby[0].rows(), kMany / 2);
  const Point x = many.features->of(centre);
  EXPECT_NEAR(nearby[0].predict(x).mean, many.model.output(0).predict(x).mean, 0.01);
}

TEST(GpNeighbourhoods, AreSharedByGenomesThatAreAlike) {
  const ModelledSquare many = history(kMany);
  const ProposalInput input = many.input();
  GpNeighbourhoods neighbourhoods(input);
  const auto around = [&](double x, double y) {
    return neighbourhoods.around(many.space.at(std::vector{x, y})).data();
  };
  const LazyGp* const first = around(0.4, 0.5);
  EXPECT_EQ(around(0.41, 0.5), first);
  const LazyGp* const second = around(0.8, 0.5);
  EXPECT_NE(second, first);
  EXPECT_EQ(around(0.8, 0.51), second);
  EXPECT_EQ(around(0.4, 0.5), first);
}

// The whole model looks at few candidates, whether of a region or near the best; these must be the
// good ones.
TEST(GpProposal, OfALargeHistoryIsAmongTheBestCandidatesOfARegion) {
  const ModelledSquare many = history(kMany);
  const ProposalInput anywhere = many.input(), in_region = many.input(0.4);
  Rng rng(1);
  std::vector<double> losses;
  for (const Genome& genome : candidates_in(region_of(in_region, rng), in_region, rng))
    losses.push_back(loss_of(genome));
  std::ranges::nth_element(losses, losses.begin() + 8);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    EXPECT_LT(loss_of(propose(anywhere, Rng(seed))), losses[8]) << seed;
    EXPECT_LT(loss_of(propose(in_region, Rng(seed))), losses[8]) << seed;
  }
}

}  // namespace
}  // namespace detol

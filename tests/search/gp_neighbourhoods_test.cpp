#include "search/gp_neighbourhoods.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "search/gp_candidates.h"

namespace detol {
namespace {

double loss_of(const Genome& genome) {
  const double x = genome.number("x") - 0.3, y = genome.number("y") - 0.6;
  return x * x + y * y + 0.02 * std::sin(20 * x);
}

// A model of `count` observations.
struct History {
  Space space = SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
  std::shared_ptr<const Features> features = std::make_shared<const Features>(space);
  GpModel model{features, 1, 1, features->empty_points()};
  std::vector<Genome> genomes;
  std::unordered_set<std::uint64_t> taken;
  Points failed = features->empty_points();

  explicit History(std::size_t count) {
    Rng rng(3);
    for (std::size_t i = 0; i < count; ++i) {
      genomes.push_back(space.sample(rng));
      model.append(features->of(genomes.back()), std::vector{loss_of(genomes.back())});
    }
    ModelFit fit{.outputs = model.fits(), .observations = count, .members = indices_below(count)};
    fit.outputs.front().kernel.lengths = {0.2, 0.2};
    model.use(std::move(fit));
    model.fantasize({});
  }

  ProposalInput input(double side = 0) const {
    return {.space = space,
            .features = *features,
            .model = model,
            .genomes = genomes,
            .candidates = {},
            .taken = taken,
            .failed = failed,
            .side = side};
  }
};

constexpr std::size_t kMany = 1100;  // observations: more than the whole model is used for alone

TEST(GpNeighbourhoods, AreNoneWhereTheWholeModelIsSmall) {
  const History told(50);
  const ProposalInput input = told.input();
  GpNeighbourhoods neighbourhoods(input);
  EXPECT_TRUE(neighbourhoods.around(told.genomes[0]).empty());
}

TEST(GpNeighbourhoods, PredictAtTheirCentreWhatTheWholeModelDoes) {
  const History told(kMany);
  const ProposalInput input = told.input();
  GpNeighbourhoods neighbourhoods(input);
  const Genome centre = told.space.at(std::vector{0.4, 0.5});
  const std::span<const LazyGp> nearby = neighbourhoods.around(centre);
  ASSERT_EQ(nearby.size(), 1u);
  EXPECT_LT(nearby[0].rows(), kMany / 2);
  const Point x = told.features->of(centre);
  EXPECT_NEAR(nearby[0].predict(x).mean, told.model.output(0).predict(x).mean, 0.01);
}

TEST(GpNeighbourhoods, AreSharedByGenomesThatAreAlike) {
  const History told(kMany);
  const ProposalInput input = told.input();
  GpNeighbourhoods neighbourhoods(input);
  const auto around = [&](double x, double y) {
    return neighbourhoods.around(told.space.at(std::vector{x, y})).data();
  };
  const LazyGp* const first = around(0.4, 0.5);
  EXPECT_EQ(around(0.41, 0.5), first);
  const LazyGp* const second = around(0.8, 0.5);
  EXPECT_NE(second, first);
  EXPECT_EQ(around(0.8, 0.51), second);
  EXPECT_EQ(around(0.4, 0.5), first);
}

// A proposal of a region looks at few candidates with the whole model; these must be the good ones.
TEST(GpProposal, OfALargeHistoryIsAmongTheBestOfItsRegion) {
  const History told(kMany);
  const ProposalInput input = told.input(0.4);
  Rng rng(1);
  const GpRegion region = region_of(input, rng);
  std::vector<double> losses;
  for (const Genome& genome : candidates_in(region, input, rng)) losses.push_back(loss_of(genome));
  std::ranges::nth_element(losses, losses.begin() + 8);
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    EXPECT_LT(loss_of(propose(input, Rng(seed))), losses[8]) << seed;
}

}  // namespace
}  // namespace detol

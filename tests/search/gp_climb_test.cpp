#include "search/gp_climb.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "search/gp_candidates.h"

namespace detol {
namespace {

// A model of a loss that falls as x grows, so that the acquisition grows with x.
struct Slope {
  Space space = SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
  std::shared_ptr<const Features> features = std::make_shared<const Features>(space);
  GpModel model{features, 1, 1, features->empty_points()};
  std::vector<Genome> genomes;
  std::unordered_set<std::uint64_t> taken;
  Points failed = features->empty_points();

  Slope() {
    Rng rng(3);
    ModelFit fit{.outputs = model.fits(), .observations = 12, .members = {}};
    for (std::size_t i = 0; i < 12; ++i) {
      genomes.push_back(space.sample(rng));
      const double loss = -genomes.back().number("x");
      model.append(features->of(genomes.back()), std::vector{loss});
      fit.members.push_back(i);
    }
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
            .acquisition = GpAcquisition::kBound,
            .side = side};
  }
};

TEST(GpClimber, ClimbsNoFurtherThanItsRegion) {
  const Slope slope;
  const ProposalInput input = slope.input();
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

TEST(GpRegion, IsAsWideAsItsSideAroundTheBestAndHasAllItsCandidates) {
  const Slope slope;
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

}  // namespace
}  // namespace detol

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/parzen.h"
#include "search/searcher.h"
#include "tests/search/runs.h"
#include "tests/search/spaces.h"

namespace detol {
namespace {

std::unique_ptr<Searcher> make(const Space& space, std::map<std::string, std::string> options) {
  return make_searcher("tpe", space,
                       {.seed = 5, .objectives = {minimize("loss")}, .options = std::move(options)})
      .value();
}

Space line() {
  return SpaceBuilder().add_float("x", 0, 1).build().value();
}

// Random genomes of a space, and the density of the first `count` of them.
struct Around {
  explicit Around(const Space& space, int count = 1, Bandwidth bandwidth = Bandwidth::kFixed)
      : axes(space) {
    Rng rng(2);
    for (int i = 0; i < 200; ++i) {
      genomes.push_back(space.sample(rng));
      coordinates.push_back(axes.coordinates_of(genomes.back()));
    }
    std::vector<Observation> observations;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      observations.push_back({&genomes[i], coordinates[i]});
    density.emplace(axes, observations, bandwidth);
  }

  Axes axes;
  std::vector<Genome> genomes;
  std::vector<std::vector<double>> coordinates;
  std::optional<Parzen> density;
};

// Returns the mean of a density over uniform draws: 1, as Parzen divides by the uniform density.
double mean_density(const Space& space, int observations) {
  const Around around(space, observations);
  Rng rng(3);
  double sum = 0;
  for (int i = 0; i < 20'000; ++i)
    sum += std::exp(around.density->log_density(around.axes.coordinates_of(space.sample(rng))));
  return sum / 20'000;
}

TEST(Parzen, OfNothingIsUniform) {
  const Around around(testing_support::conditional_space(), 0);
  for (const std::vector<double>& at : around.coordinates)
    EXPECT_NEAR(around.density->log_density(at), 0, 1e-12);
}

TEST(Parzen, IsADensityOverEveryKindOfChoice) {
  EXPECT_NEAR(mean_density(line(), 3), 1, 0.03);
  EXPECT_NEAR(mean_density(testing_support::conditional_space(), 5), 1, 0.05);
  for (const auto& [name, space] : testing_support::all_spaces()) {
    if (name == "wide" || name == "structured") continue;
    EXPECT_NEAR(mean_density(space, 4), 1, 0.05) << name;
  }
}

TEST(Parzen, IsLargestAtItsObservation) {
  const Around around(testing_support::space_named("steps"));
  for (const std::vector<double>& at : around.coordinates)
    EXPECT_LE(around.density->log_density(at),
              around.density->log_density(around.coordinates[0]) + 1e-12);
}

TEST(Parzen, AnInactiveChoiceTeachesNothing) {
  // The only observation has opt: adamw, and thus no momentum.
  const Space space = SpaceBuilder()
                          .add_categorical("opt", {"sgd", "adamw"})
                          .add_float("momentum", 0, 1, {.when = {"opt", {"sgd"}}})
                          .build()
                          .value();
  const Axes axes(space);
  const Genome adamw = space.at(std::vector<double>{0.9, 0.5});
  const std::vector<double> seen = axes.coordinates_of(adamw);
  const Parzen density(axes, {{&adamw, seen}}, Bandwidth::kFixed);
  const auto at = [&](double momentum) {
    return density.log_density(axes.coordinates_of(space.at(std::vector<double>{0.1, momentum})));
  };
  EXPECT_DOUBLE_EQ(at(0.1), at(0.8));
}

TEST(Parzen, ScottsWidthsShrinkAsObservationsComeTogether) {
  const Space space = line();
  const Axes axes(space);
  const auto at_center = [&](double spread) {
    std::vector<Genome> genomes;
    for (int i = 0; i < 20; ++i)
      genomes.push_back(space.at(std::vector<double>{0.5 + spread * (i - 9.5) / 10}));
    std::vector<std::vector<double>> coordinates;
    for (const Genome& genome : genomes) coordinates.push_back(axes.coordinates_of(genome));
    std::vector<Observation> observations;
    for (std::size_t i = 0; i < 20; ++i) observations.push_back({&genomes[i], coordinates[i]});
    const Parzen density(axes, observations, Bandwidth::kScott);
    return density.log_density(std::vector<double>{0.5});
  };
  EXPECT_GT(at_center(0.01), at_center(0.4) + 1);
}

TEST(Tpe, BeatsRandomOnASphere) {
  EXPECT_LT(testing_support::median_on_sphere("tpe"),
            0.1 * testing_support::median_on_sphere("random"));
}

TEST(Tpe, VisitsEveryGenomeOfASmallSpaceBeforeRepeatingMany) {
  const Space space = testing_support::space_named("categorical");
  ASSERT_EQ(space.cardinality(), 16);
  const auto searcher = make(space, {{"startup", "4"}});
  std::set<std::vector<double>> seen;
  for (TrialId id = 0; id < 16; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    seen.emplace(trial.genome.codes().begin(), trial.genome.codes().end());
    searcher->tell(trial, Measured{.values = {static_cast<double>(id)}});
  }
  EXPECT_EQ(seen.size(), 16u);
}

// Returns a searcher that was told twenty trials on a line, the best of them near 0.3.
std::unique_ptr<Searcher> told_of_a_valley() {
  const Space space = line();
  auto searcher = make(space, {});
  for (TrialId id = 0; id < 20; ++id) {
    const double x = (static_cast<double>(id) + 0.5) / 20;
    searcher->tell({id, space.at(std::vector<double>{x})}, Measured{.values = {std::abs(x - 0.3)}});
  }
  return searcher;
}

TEST(Tpe, ProposesNearTheGoodTrials) {
  const auto searcher = told_of_a_valley();
  double away = 0;
  for (const Trial& trial : searcher->ask(100, 5)) away += std::abs(trial.genome.number("x") - 0.3);
  EXPECT_LT(away / 5, 0.15);
}

// Two good trials: one much better than all others, one hardly better than the bad ones.
TEST(Tpe, AGoodTrialWeighsAsMuchAsItIsBetter) {
  int beside_best = 0;
  for (TrialId next = 1000; next < 1060; ++next) {
    const auto searcher = make(line(), {{"startup", "2"}, {"gamma", "0.1"}});
    const auto tell = [&](TrialId id, double x, double loss) {
      searcher->tell({id, line().at(std::vector<double>{x})}, Measured{.values = {loss}});
    };
    tell(0, 0.2, 0);
    tell(1, 0.8, 0.999);
    for (TrialId id = 2; id < 20; ++id) tell(id, (static_cast<double>(id) - 1.5) / 18, 1);
    beside_best += searcher->ask(next, 1).at(0).genome.number("x") < 0.5 ? 1 : 0;
  }
  EXPECT_GT(beside_best, 50);
}

TEST(Tpe, WorkersKeepApart) {
  const auto searcher = told_of_a_valley();
  double low = 1, high = 0;
  for (const Trial& trial : searcher->ask(100, 20)) {
    low = std::min(low, trial.genome.number("x"));
    high = std::max(high, trial.genome.number("x"));
  }
  EXPECT_GT(high - low, 0.3);
}

TEST(Tpe, AFailureIsNeverGood) {
  const Space space = line();
  const auto searcher = make(space, {});
  for (TrialId id = 0; id < 40; ++id) {
    const double x = (static_cast<double>(id) + 0.5) / 40;
    const Trial trial{id, space.at(std::vector<double>{x})};
    if (x < 0.5) {
      searcher->tell(trial, Failed{.cause = Cause::kOutOfMemory});
    } else {
      searcher->tell(trial, Measured{.values = {1}});
    }
  }
  int failing = 0;
  for (const Trial& trial : searcher->ask(100, 10))
    failing += trial.genome.number("x") < 0.5 ? 1 : 0;
  EXPECT_LE(failing, 2);
}

TEST(Tpe, TheOrderOfTheTellsDoesNotMatter) {
  const Space space = testing_support::conditional_space();
  const auto forward = make(space, {}), backward = make(space, {});
  Rng rng(1);
  std::vector<Trial> trials;
  for (TrialId id = 0; id < 30; ++id) trials.push_back({id, space.sample(rng)});
  const auto outcome = [](const Trial& trial) {
    return Measured{.values = {static_cast<double>(trial.id % 7)}};
  };
  for (const Trial& trial : trials) forward->tell(trial, outcome(trial));
  std::ranges::reverse(trials);
  for (const Trial& trial : trials) backward->tell(trial, outcome(trial));
  EXPECT_EQ(forward->ask(30, 1).at(0).genome, backward->ask(30, 1).at(0).genome);
}

}  // namespace
}  // namespace detol

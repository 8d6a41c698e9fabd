// What searchers with a model say of a candidate.

#include <cmath>

#include <gtest/gtest.h>

#include "search/searcher.h"

namespace detol {
namespace {

std::unique_ptr<Searcher> make(const std::string& name, const Space& space,
                               const Objective& objective) {
  return make_searcher(name, space, {.seed = 3, .objectives = {objective}, .options = {}}).value();
}

Space unit_square() {
  return SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
}

// From 100 to 101, so that predictions in other units would be far away.
double high_bowl(const Genome& genome) {
  return 100 + std::pow(genome.number("x") - 0.3, 2) + std::pow(genome.number("y") - 0.7, 2);
}

void tell_draws(Searcher& searcher, int count, double sign) {
  Rng rng(8);
  for (TrialId id = 0; id < static_cast<TrialId>(count); ++id) {
    const Trial trial{id, unit_square().sample(rng)};
    searcher.tell(trial, Measured{.values = {sign * high_bowl(trial.genome)}});
  }
}

Explanation explained(Searcher& searcher, const Genome& genome) {
  while (auto job = searcher.background()) searcher.absorb((*job)());
  return searcher.explain({.id = 1000, .genome = genome}).value();
}

TEST(Explanation, PredictsInTheUnitsOfTheObjectiveNearWhatWasTold) {
  for (const char* name : {"gp", "portfolio"}) {
    for (const Objective& objective : {minimize("loss"), maximize("gain")}) {
      const double sign = objective.direction == Direction::kMinimize ? 1 : -1;
      const auto searcher = make(name, unit_square(), objective);
      tell_draws(*searcher, 30, sign);
      Rng rng(8);
      for (int i = 0; i < 30; ++i) {
        Genome genome = unit_square().sample(rng);
        const Explanation explanation = explained(*searcher, genome);
        EXPECT_EQ(explanation.model, "gp");
        ASSERT_EQ(explanation.predictions.size(), 1u);
        const auto& [value, deviation] = explanation.predictions.front();
        EXPECT_NEAR(value, sign * high_bowl(genome), 0.02) << name;
        EXPECT_GE(deviation, 0);
        EXPECT_LT(deviation, 0.05) << name;
        EXPECT_TRUE(std::isfinite(explanation.acquisition));
      }
    }
  }
}

TEST(Explanation, IsSurerNearWhatWasTold) {
  const auto searcher = make("gp", unit_square(), minimize("loss"));
  Rng rng(2);
  Space half = SpaceBuilder().add_float("x", 0, 0.3).add_float("y", 0, 0.3).build().value();
  for (TrialId id = 0; id < 20; ++id) {
    const auto genome = unit_square().genome(half.sample(rng).assignments()).value();
    searcher->tell({id, genome}, Measured{.values = {high_bowl(genome)}});
  }
  const auto at = [](double x) {
    return unit_square()
        .genome(std::vector<std::pair<std::string, Value>>{{"x", x}, {"y", x}})
        .value();
  };
  EXPECT_LT(explained(*searcher, at(0.15)).predictions.front().deviation,
            explained(*searcher, at(0.95)).predictions.front().deviation);
}

TEST(Explanation, HasNoPredictionBeforeTheFirstFit) {
  const auto searcher = make("gp", unit_square(), minimize("loss"));
  tell_draws(*searcher, 2, 1);
  Rng rng(1);
  const Explanation explanation = explained(*searcher, unit_square().sample(rng));
  EXPECT_EQ(explanation.model, "gp");
  EXPECT_TRUE(explanation.predictions.empty());
}

TEST(Explanation, SearchersWithoutAModelHaveNone) {
  for (const char* name : {"random", "local", "evolution"}) {
    const auto searcher = make(name, unit_square(), minimize("loss"));
    tell_draws(*searcher, 20, 1);
    Rng rng(1);
    EXPECT_FALSE(searcher->explain({.id = 20, .genome = unit_square().sample(rng)})) << name;
  }
}

TEST(Explanation, ChangesNoProposal) {
  for (const char* name : {"gp", "portfolio"}) {
    const auto asked = make(name, unit_square(), minimize("loss"));
    const auto quiet = make(name, unit_square(), minimize("loss"));
    for (TrialId id = 0; id < 40; ++id) {
      const Trial trial = asked->ask(id, 1).at(0), other = quiet->ask(id, 1).at(0);
      ASSERT_EQ(trial.genome, other.genome) << name << " trial " << id;
      (void)asked->explain(trial);
      asked->tell(trial, Measured{.values = {high_bowl(trial.genome)}});
      quiet->tell(trial, Measured{.values = {high_bowl(trial.genome)}});
    }
  }
}

TEST(Explanation, SaysHowLikelyTheConstraintsAreKept) {
  for (const char* name : {"gp", "portfolio"}) {
    const auto searcher =
        make_searcher(
            name, unit_square(),
            {.seed = 3, .objectives = {minimize("loss")}, .options = {}, .constraints = 1})
            .value();
    Rng rng(8);
    for (TrialId id = 0; id < 30; ++id) {
      const Trial trial{id, unit_square().sample(rng)};
      const double excess = trial.genome.number("x") - 0.5;
      searcher->tell(trial, Measured{.values = {high_bowl(trial.genome)}, .excesses = {excess}});
    }
    for (int i = 0; i < 10; ++i) {
      const Genome genome = unit_square().sample(rng);
      const double x = genome.number("x");
      const double feasibility = explained(*searcher, genome).feasibility.value();
      if (x < 0.4) {
        EXPECT_GT(feasibility, 0.9) << name << " " << x;
      } else if (x > 0.6) {
        EXPECT_LT(feasibility, 0.1) << name << " " << x;
      }
    }
  }
}

TEST(Explanation, SaysHowLikelyATrialIsToSucceedWhereSomeFailed) {
  const auto searcher = make("gp", unit_square(), minimize("loss"));
  Rng rng(8);
  for (TrialId id = 0; id < 40; ++id) {
    const Trial trial{id, unit_square().sample(rng)};
    if (trial.genome.number("x") > 0.5)
      searcher->tell(trial, Failed{.cause = Cause::kOutOfMemory});
    else
      searcher->tell(trial, Measured{.values = {high_bowl(trial.genome)}});
  }
  for (int i = 0; i < 10; ++i) {
    const Genome genome = unit_square().sample(rng);
    const double x = genome.number("x");
    const double success = explained(*searcher, genome).success.value();
    if (x < 0.35) {
      EXPECT_GT(success, 0.8) << x;
    } else if (x > 0.65) {
      EXPECT_LT(success, 0.2) << x;
    }
  }
}

TEST(Explanation, SaysNothingOfConstraintsWhereThereAreNone) {
  const auto searcher = make("gp", unit_square(), minimize("loss"));
  tell_draws(*searcher, 20, 1);
  Rng rng(1);
  const Explanation explanation = explained(*searcher, unit_square().sample(rng));
  EXPECT_FALSE(explanation.feasibility);
  EXPECT_FALSE(explanation.success);
}

}  // namespace
}  // namespace detol

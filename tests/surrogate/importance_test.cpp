#include "surrogate/importance.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

using Loss = std::function<double(const Genome&, Rng&)>;

struct Trials {
  std::vector<Genome> genomes;
  std::vector<double> losses;
};

Trials random_trials(const Space& space, std::size_t count, const Loss& loss,
                     std::uint64_t seed = 1) {
  Trials trials;
  Rng rng(seed);
  for (std::size_t i = 0; i < count; ++i) {
    trials.genomes.push_back(space.sample(rng));
    trials.losses.push_back(loss(trials.genomes.back(), rng));
  }
  return trials;
}

std::map<std::string, ChoiceImportance> by_name(const Space& space, const Trials& trials) {
  std::map<std::string, ChoiceImportance> named;
  for (const ChoiceImportance& row : importance_of(space, trials.genomes, trials.losses))
    named[space.domains()[row.domain].name] = row;
  return named;
}

bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void expect_equal(const std::vector<ChoiceImportance>& a, const std::vector<ChoiceImportance>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].domain, b[i].domain);
    EXPECT_EQ(a[i].trials, b[i].trials);
    EXPECT_TRUE(is_same(a[i].value, b[i].value) && is_same(a[i].low, b[i].low) &&
                is_same(a[i].high, b[i].high));
  }
}

TEST(Importance, IsTheAdjustedShareOfTheVarianceThatIsExplained) {
  // The best 3 of 12 are sgd, which 6 are: R^2 = 1/3, adjusted 1 - 2/3 * 11/10.
  const Space space = SpaceBuilder().add_categorical("opt", {"sgd", "adam"}).build().value();
  Trials trials;
  for (int i = 0; i < 12; ++i) {
    trials.genomes.push_back(
        space.genome(std::vector<std::pair<std::string, Value>>{{"opt", i < 6 ? "sgd" : "adam"}})
            .value());
    trials.losses.push_back(i);
  }
  EXPECT_NEAR(by_name(space, trials).at("opt").value, 1 - 2.0 / 3 * 11 / 10, 1e-12);
}

TEST(Importance, IsNearOneForTheChoiceThatDecidesAndNearZeroForTheOthers) {
  const Space space = SpaceBuilder()
                          .add_float("x", 0, 1)
                          .add_float("irrelevant", 0, 1)
                          .add_categorical("op", {"a", "b", "c", "d", "e"})
                          .build()
                          .value();
  const Trials trials = random_trials(
      space, 200, [](const Genome& g, Rng&) { return std::pow(g.number("x") - 0.5, 2); });
  const auto named = by_name(space, trials);
  EXPECT_GT(named.at("x").value, 0.7);
  EXPECT_LT(named.at("irrelevant").value, 0.1);
  EXPECT_LT(named.at("op").value, 0.1);
  EXPECT_EQ(importance_of(space, trials.genomes, trials.losses).front().domain, 0u);
}

TEST(Importance, SeesACategoryThatIsBest) {
  const Space space =
      SpaceBuilder().add_categorical("op", {"a", "b", "c", "d"}).add_bool("se").build().value();
  const Trials trials = random_trials(space, 200, [](const Genome& g, Rng& rng) {
    return (g.text("op") == "c" ? 0 : 1) + 0.1 * rng.normal();
  });
  const auto named = by_name(space, trials);
  EXPECT_GT(named.at("op").value, 0.6);
  EXPECT_LT(named.at("se").value, 0.1);
}

TEST(Importance, OfAConditionalChoiceIsWeightedByHowOftenItIsActive) {
  const Space space = SpaceBuilder()
                          .add_categorical("opt", {"sgd", "adam"})
                          .add_float("momentum", 0, 1, {.when = {"opt", {"sgd"}}})
                          .build()
                          .value();
  const auto named = by_name(space, random_trials(space, 400, [](const Genome& g, Rng&) {
                               return g.is_active("momentum") ? g.number("momentum") : 2;
                             }));
  const ChoiceImportance& momentum = named.at("momentum");
  const double share = static_cast<double>(momentum.trials) / 400;
  EXPECT_NEAR(share, 0.5, 0.1);
  EXPECT_GT(momentum.value, 0.8 * share);
  EXPECT_LE(momentum.value, share + 1e-12);
}

TEST(Importance, OfAChoiceThatTooFewTrialsHaveIsNotMeasuredAndComesLast) {
  const Space space = SpaceBuilder()
                          .add_float("rare", 0, 1, {.when = {"opt", {"sgd"}}})
                          .add_categorical("opt", {"sgd", "adam"})
                          .build()
                          .value();
  const Trials trials = random_trials(
      space, 12, [](const Genome& g, Rng& rng) { return rng.uniform() + g.is_active("rare"); });
  const auto rows = importance_of(space, trials.genomes, trials.losses);
  ASSERT_LT(rows.back().trials, kLeastTrialsForImportance);
  EXPECT_EQ(rows.back().domain, 0u);
  EXPECT_TRUE(std::isnan(rows.back().value) && std::isnan(rows.back().low));
}

TEST(Importance, DoesNotDependOnTheOrderOfTheTrials) {
  const Space space = SpaceBuilder()
                          .add_int("depth", 1, 30)
                          .add_categorical("opt", {"sgd", "adam"})
                          .add_float("momentum", 0, 1, {.when = {"opt", {"sgd"}}})
                          .build()
                          .value();
  Trials trials = random_trials(
      space, 60, [](const Genome& g, Rng&) { return std::floor(g.number("depth") / 4); });
  const auto before = importance_of(space, trials.genomes, trials.losses);
  std::vector<std::size_t> order(60);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  Rng(5).shuffle(std::span(order));
  Trials shuffled;
  for (const std::size_t i : order) {
    shuffled.genomes.push_back(trials.genomes[i]);
    shuffled.losses.push_back(trials.losses[i]);
  }
  expect_equal(importance_of(space, shuffled.genomes, shuffled.losses), before);
}

TEST(Importance, IsZeroWhereNothingVaries) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).add_int("one", 3, 3).build().value();
  const auto flat =
      by_name(space, random_trials(space, 40, [](const Genome&, Rng&) { return 7.0; }));
  EXPECT_EQ(flat.at("x").value, 0);
  EXPECT_EQ(flat.at("x").high, 0);
  const auto named =
      by_name(space, random_trials(space, 40, [](const Genome& g, Rng&) { return g.number("x"); }));
  EXPECT_EQ(named.at("one").value, 0);
}

TEST(Importance, IsTheSameOnALogarithmicScale) {
  const Space log = SpaceBuilder().add_float("lr", 1e-6, 1, {.log = true}).build().value();
  const Space linear = SpaceBuilder().add_float("lr", -6, 0).build().value();
  Trials one = random_trials(
      log, 80, [](const Genome& g, Rng&) { return std::abs(std::log10(g.number("lr")) + 3); });
  Trials other{.genomes = {}, .losses = one.losses};
  for (const Genome& genome : one.genomes) {
    const double exponent = std::log10(genome.number("lr"));
    other.genomes.push_back(
        linear.genome(std::vector<std::pair<std::string, Value>>{{"lr", exponent}}).value());
  }
  expect_equal(importance_of(log, one.genomes, one.losses),
               importance_of(linear, other.genomes, other.losses));
}

TEST(Importance, LeavesOutOutcomesThatAreNotFinite) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).add_bool("se").build().value();
  Trials trials = random_trials(space, 50, [](const Genome& g, Rng&) { return g.number("x"); });
  const auto before = importance_of(space, trials.genomes, trials.losses);
  Rng rng(9);
  for (const double loss :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    trials.genomes.push_back(space.sample(rng));
    trials.losses.push_back(loss);
  }
  expect_equal(importance_of(space, trials.genomes, trials.losses), before);
}

TEST(Importance, ErrorBarsContainTheMeanOverManyStudies) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).add_float("none", 0, 1).build().value();
  constexpr int kStudies = 60;
  std::vector<std::map<std::string, ChoiceImportance>> studies;
  for (int i = 0; i < kStudies; ++i) {
    studies.push_back(by_name(
        space,
        random_trials(
            space, 60, [](const Genome& g, Rng& rng) { return g.number("x") + 0.3 * rng.normal(); },
            100 + static_cast<std::uint64_t>(i))));
  }
  for (const char* name : {"x", "none"}) {
    double mean = 0;
    int covered = 0;
    for (const auto& study : studies) mean += study.at(name).value / kStudies;
    for (const auto& study : studies)
      covered += study.at(name).low <= mean && mean <= study.at(name).high;
    EXPECT_GE(covered, kStudies * 8 / 10) << name;
  }
}

}  // namespace
}  // namespace detol

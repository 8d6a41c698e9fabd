// Tests of the searcher `cgp`: (1 + lambda) with neutral drift and forced mutation.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/searcher.h"
#include "tests/golden.h"
#include "tests/search/spaces.h"

namespace detol {
namespace {

std::unique_ptr<Searcher> make(std::string_view name, const Space& space, std::uint64_t seed,
                               std::map<std::string, std::string> options = {}) {
  return make_searcher(
             name, space,
             {.seed = seed, .objectives = {minimize("loss")}, .options = std::move(options)})
      .value();
}

Space line_space() {
  return SpaceBuilder().add_int("x", 0, 1'000'000).add_int("tag", 0, 1'000'000).build().value();
}

Trial on_line(const Space& space, TrialId id) {
  const auto x = static_cast<std::int64_t>(id);
  const std::vector<std::pair<std::string, Value>> values = {{"x", x}, {"tag", 1000 * x}};
  return {id, space.genome(values).value()};
}

void tell(Searcher& searcher, const Trial& trial, double loss) {
  searcher.tell(trial, Measured{.values = {loss}});
}

// Returns the parents of fifty children. At a mutation rate of 1e-6 a child changes one of its two
// choices; the other identifies the parent.
std::set<double> parents_of_children(Searcher& searcher) {
  std::set<double> parents;
  for (const Trial& child : searcher.ask(1000, 50)) {
    const double x = child.genome.number("x"), tag = child.genome.number("tag");
    parents.insert(tag < 10'000 && static_cast<int>(tag) % 1000 == 0 ? tag / 1000 : x);
  }
  return parents;
}

std::unique_ptr<Searcher> on_line_searcher(const Space& space) {
  return make("cgp", space, 1, {{"startup", "1"}, {"mutation_rate", "1e-6"}});
}

TEST(Cgp, AChildThatIsAsGoodBecomesTheParent) {
  const Space space = line_space();
  const auto searcher = on_line_searcher(space);
  tell(*searcher, on_line(space, 1), 0.5);
  EXPECT_EQ(parents_of_children(*searcher), std::set<double>{1});
  tell(*searcher, on_line(space, 2), 0.5);
  EXPECT_EQ(parents_of_children(*searcher), std::set<double>{2});
}

TEST(Cgp, AWorseChildDoesNot) {
  const Space space = line_space();
  const auto searcher = on_line_searcher(space);
  tell(*searcher, on_line(space, 1), 0.5);
  tell(*searcher, on_line(space, 2), 0.6);
  searcher->tell(on_line(space, 3), Failed{.cause = Cause::kDiverged});
  EXPECT_EQ(parents_of_children(*searcher), std::set<double>{1});
}

TEST(Cgp, AParentThatTurnsOutWorseIsSucceededByTheLatestOfTheBest) {
  const Space space = line_space();
  const auto searcher = on_line_searcher(space);
  const double losses[] = {0.5, 0.4, 0.4, 0.1, 0.7};
  for (TrialId id = 1; id <= 5; ++id) tell(*searcher, on_line(space, id), losses[id - 1]);
  EXPECT_EQ(parents_of_children(*searcher), std::set<double>{4});
  tell(*searcher, on_line(space, 4), 0.6);
  EXPECT_EQ(parents_of_children(*searcher), std::set<double>{3});
}

TEST(Cgp, EveryChildDiffersFromItsParentInAnExpressedChoice) {
  const Space space = testing_support::structured_space();
  const auto searcher = make("cgp", space, 5, {{"startup", "1"}, {"mutation_rate", "0.02"}});
  const Trial parent = searcher->ask(0, 1).at(0);
  tell(*searcher, parent, 0.5);
  for (const Trial& child : searcher->ask(1, 200))
    EXPECT_NE(space.identity(child.genome), space.identity(parent.genome)) << child.id;
}

// Returns the average number of unexpressed choices that children changed.
double drift(const Space& space, int failures) {
  const auto searcher =
      make("cgp", space, 5, {{"startup", "1"}, {"mutation_rate", "0.02"}, {"lambda", "2"}});
  const Trial parent = searcher->ask(0, 1).at(0);
  tell(*searcher, parent, 0.5);
  Rng rng(4);
  for (int i = 1; i <= failures; ++i)
    tell(*searcher, {static_cast<TrialId>(i), space.sample(rng)}, 0.9);
  const std::vector<bool> counts = space.expressed(parent.genome);
  double changed = 0;
  for (const Trial& child : searcher->ask(1000, 200)) {
    for (std::size_t i = 0; i < space.size(); ++i)
      changed += !counts[i] && child.genome.codes()[i] != parent.genome.codes()[i] ? 1 : 0;
  }
  return changed / 200;
}

TEST(Cgp, WhatIsNotExpressedDriftsWhileNoChildIsGoodEnough) {
  const Space space = testing_support::structured_space();
  const double fresh = drift(space, 0), stale = drift(space, 40), old = drift(space, 400);
  EXPECT_LT(fresh, 0.5);
  EXPECT_GT(stale, 2 * fresh);
  EXPECT_GT(old, 1.5);  // fully random: 2/3 of at least three choices
}

// Returns how many of sixteen letters are not "c" (a one-max problem).
double wrong_letters(const Genome& genome) {
  return static_cast<double>(
      std::ranges::count_if(genome.codes(), [](double c) { return c != 2; }));
}

double median_of_wrong_letters(std::string_view name) {
  SpaceBuilder builder;
  for (int i = 0; i < 16; ++i)
    builder.add_categorical("c" + std::to_string(i), {"a", "b", "c", "d"});
  const Space space = builder.build().value();
  std::vector<double> best;
  for (std::uint64_t seed = 0; seed < 11; ++seed) {
    const auto searcher = make(name, space, seed);
    best.push_back(16);
    for (TrialId id = 0; id < 150; ++id) {
      const Trial trial = searcher->ask(id, 1).at(0);
      const double loss = wrong_letters(trial.genome);
      best.back() = std::min(best.back(), loss);
      tell(*searcher, trial, loss);
    }
  }
  std::ranges::nth_element(best, best.begin() + 5);
  return best[5];
}

TEST(Cgp, FindsLettersThatRandomDrawsDoNot) {
  EXPECT_LE(median_of_wrong_letters("cgp"), median_of_wrong_letters("random") / 2);
}

TEST(Cgp, RefusesImpossibleOptions) {
  const auto searcher = make_searcher(
      "cgp", Space(), {.objectives = {minimize("loss")}, .options = {{"mutation_rate", "0"}}});
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().message,
            "cgp: mutation_rate is '0'; it must be a number from 1e-06 to 1");
}

std::string line_of(const Trial& trial, double loss) {
  std::string line = fmt::format("{} loss={:.6g}", trial.id, loss);
  for (const auto& [name, value] : trial.genome.assignments()) {
    const auto* real = std::get_if<double>(&value);
    line += fmt::format(" {}={}", name, real ? fmt::format("{:.6g}", *real) : to_text(value));
  }
  return line + "\n";
}

// Only set flags whose word is "b" lower the loss; other changes are neutral, so drift can spread.
double loss_of(const Genome& genome) {
  double loss = 2;
  for (int i = 0; i < 5; ++i) {
    const std::string node = fmt::format("architecture.node[{}]", i);
    if (genome.flag(node + ".flag") && genome.text(node + ".word") == "b") loss -= 1;
  }
  return loss;
}

// Trial 5 of every seven fails; the others are told two trials late, as with three workers.
TEST(CgpGolden, FirstFortyTrialsOfAStructuredSpace) {
  const auto searcher = make("cgp", testing_support::structured_space(), 42);
  std::string trace;
  std::vector<Trial> running;
  for (TrialId id = 0; id < 40; ++id) {
    running.push_back(searcher->ask(id, 1).at(0));
    trace += line_of(running.back(), loss_of(running.back().genome));
    if (running.size() < 3) continue;
    const Trial done = running.front();
    running.erase(running.begin());
    if (done.id % 7 == 5) {
      searcher->tell(done, Failed{.cause = Cause::kDiverged});
    } else {
      tell(*searcher, done, loss_of(done.genome));
    }
  }
  testing_support::expect_golden("cgp_structured", trace);
}

}  // namespace
}  // namespace detol

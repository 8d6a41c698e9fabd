#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/searcher.h"
#include "tests/search/runs.h"
#include "tests/search/spaces.h"

namespace detol {
namespace {

std::unique_ptr<Searcher> make(const Space& space, std::map<std::string, std::string> options) {
  return make_searcher("local", space,
                       {.seed = 5, .objectives = {minimize("loss")}, .options = std::move(options)})
      .value();
}

// Six choices of five words.
Space words() {
  SpaceBuilder builder;
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    builder.add_categorical(name, {"0", "1", "2", "3", "4"});
  return builder.build().value();
}

int differences(const Genome& a, const Genome& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.codes().size(); ++i) count += a.codes()[i] != b.codes()[i] ? 1 : 0;
  return count;
}

// Tells `loss` of the first proposal and returns that trial.
Trial start_from(Searcher& searcher, double loss) {
  const Trial top = searcher.ask(0, 1).at(0);
  searcher.tell(top, Measured{.values = {loss}});
  return top;
}

TEST(Local, BeatsRandomOnASphere) {
  EXPECT_LT(testing_support::median_on_sphere("local"),
            0.1 * testing_support::median_on_sphere("random"));
}

TEST(Local, TriesEveryNeighbourOfATopOnceAndThenStartsAgain) {
  const auto searcher = make(words(), {{"startup", "1"}});
  const Trial top = start_from(*searcher, 0);
  std::set<std::vector<double>> seen;
  for (TrialId id = 1; id <= 24; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    EXPECT_EQ(differences(trial.genome, top.genome), 1);
    seen.emplace(trial.genome.codes().begin(), trial.genome.codes().end());
    searcher->tell(trial, Measured{.values = {1}});
  }
  EXPECT_EQ(seen.size(), 24u);
  EXPECT_GT(differences(searcher->ask(25, 1).at(0).genome, top.genome), 1);
}

TEST(Local, ClimbsFromTheBestOfItsStarts) {
  const auto searcher = make(words(), {{"startup", "3"}});
  const std::vector<Trial> starts = searcher->ask(0, 3);
  const std::vector<double> losses = {5, 1, 4};
  for (const Trial& start : starts) searcher->tell(start, Measured{.values = {losses[start.id]}});
  EXPECT_EQ(differences(searcher->ask(3, 1).at(0).genome, starts[1].genome), 1);
}

TEST(Local, MovesAtTheFirstImprovement) {
  const auto searcher = make(words(), {{"startup", "1"}});
  start_from(*searcher, 5);
  const Trial better = searcher->ask(1, 1).at(0);
  searcher->tell(better, Measured{.values = {4}});
  for (const Trial& trial : searcher->ask(2, 20))
    EXPECT_EQ(differences(trial.genome, better.genome), 1);
}

TEST(Local, WorkersTryDifferentNeighbours) {
  const auto searcher = make(words(), {{"startup", "1"}});
  start_from(*searcher, 0);
  std::set<std::vector<double>> running;
  for (const Trial& trial : searcher->ask(1, 24))
    running.emplace(trial.genome.codes().begin(), trial.genome.codes().end());
  EXPECT_EQ(running.size(), 24u);
}

TEST(Local, FollowsAnImprovementThatItDidNotPropose) {
  const auto searcher = make(words(), {{"startup", "1"}});
  start_from(*searcher, 5);
  Rng rng(1);
  const Trial outside_trial{1, words().sample(rng)};
  searcher->tell(outside_trial, Measured{.values = {1}});
  EXPECT_EQ(differences(searcher->ask(2, 1).at(0).genome, outside_trial.genome), 1);
}

TEST(Local, TriesLastTheChangesThatFailedOnThePreviousTop) {
  const auto searcher = make(words(), {{"startup", "1"}});
  const Trial first = start_from(*searcher, 5);
  std::vector<Genome> worse;
  for (TrialId id = 1; id <= 10; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    worse.push_back(trial.genome);
    searcher->tell(trial, Measured{.values = {6}});
  }
  const Trial better = searcher->ask(11, 1).at(0);
  searcher->tell(better, Measured{.values = {4}});
  // Children that make the same change on both tops differ exactly as the tops do.
  const int apart = differences(first.genome, better.genome);
  for (const Trial& trial : searcher->ask(12, 8)) {
    for (const Genome& failed : worse) {
      const bool same_change = differences(trial.genome, failed) == apart &&
                               differences(trial.genome, first.genome) == 2;
      EXPECT_FALSE(same_change);
    }
  }
}

TEST(Local, StepsOfNumbersShrinkWhileNothingIsBetter) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  const auto searcher = make(space, {{"startup", "1"}});
  const double top = start_from(*searcher, 0).genome.number("x");
  double first = 0, last = 0;
  for (TrialId id = 1; id <= 14; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    const double distance = std::abs(trial.genome.number("x") - top);
    (id <= 4 ? first : last) = std::max(id <= 4 ? first : 0, distance);
    searcher->tell(trial, Measured{.values = {1}});
  }
  EXPECT_LT(last, 0.1 * first);
}

// Tells a trial with this x, which becomes the top.
void stand_at(Searcher& searcher, const Space& space, double x, TrialId id, double loss) {
  const std::vector<std::pair<std::string, Value>> values = {{"x", x}};
  searcher.tell({id, space.genome(values).value()}, Measured{.values = {loss}});
}

TEST(Local, AStepBeyondTheEndOfARangeIsReflected) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  const auto searcher = make(space, {{"startup", "1"}});
  for (const double end : {1.0, 0.0}) {
    const TrialId first = end == 1 ? 0 : 10;
    stand_at(*searcher, space, end, first, -static_cast<double>(first));
    for (const Trial& trial : searcher->ask(first + 1, 2))
      EXPECT_GT(std::abs(trial.genome.number("x") - end), 1e-4) << "both neighbours lie inside";
  }
}

// Ten failures halve the step five times, six successes double it again.
TEST(Local, StepsOfNumbersGrowAgainWithEachImprovement) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  double small = 0, grown = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto searcher =
        make_searcher(
            "local", space,
            {.seed = seed, .objectives = {minimize("loss")}, .options = {{"startup", "1"}}})
            .value();
    stand_at(*searcher, space, 0.5, 0, 0);
    TrialId id = 1;
    for (; id <= 10; ++id) searcher->tell(searcher->ask(id, 1).at(0), Measured{.values = {1}});
    double top = 0.5;
    for (int i = 1; i <= 7; ++i, ++id) {
      const Trial trial = searcher->ask(id, 1).at(0);
      const double distance = std::abs(trial.genome.number("x") - top);
      (i == 1 ? small : grown) = (i == 1 ? small : grown) + (i == 1 || i == 7 ? distance / 20 : 0);
      searcher->tell(trial, Measured{.values = {-static_cast<double>(i)}});
      top = trial.genome.number("x");
    }
  }
  EXPECT_LT(small, 0.02);
  EXPECT_GT(grown, 5 * small);
}

}  // namespace
}  // namespace detol

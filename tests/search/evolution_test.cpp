#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/searcher.h"
#include "tests/search/runs.h"
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

TEST(Evolution, BeatsRandomOnASphere) {
  EXPECT_LT(testing_support::median_on_sphere("evolution"),
            0.5 * testing_support::median_on_sphere("random"));
}

TEST(Evolution, NamesTheParentOfAChildAndNoneOfADraw) {
  const Space space = testing_support::space_named("categorical");
  const auto searcher = make("evolution", space, 3, {{"startup", "2"}});
  for (TrialId id = 0; id < 2; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    EXPECT_EQ(trial.parent, std::nullopt);
    searcher->tell(trial, Measured{.values = {id == 0 ? 0.5 : 1.5}});
  }
  for (const Trial& child : searcher->ask(2, 20)) EXPECT_EQ(child.parent, TrialId{0});
}

TEST(Evolution, PrefersChildrenThatPreserveWhatTheirParentLearned) {
  const Space space = SpaceBuilder().add_int("depth", 1, 9).add_float("rate", 0, 1).build().value();
  SearcherSettings settings{.seed = 3, .objectives = {minimize("loss")}, .options = {}};
  const auto deeper = [&](const SearcherSettings& how) {
    const auto searcher = make_searcher("evolution", space, how).value();
    for (TrialId id = 0; id < 8; ++id) {
      Trial trial{id, space.genome({{{"depth", std::int64_t{5}}, {"rate", 0.1 * id}}}).value()};
      searcher->tell(trial, Measured{.values = {1}});
    }
    int count = 0;
    for (const Trial& child : searcher->ask(8, 100)) count += child.genome.number("depth") > 5;
    return count;
  };
  EXPECT_LT(deeper(settings), 40);
  settings.preserves = [](const Genome& parent, const Genome& child) {
    return child.number("depth") > parent.number("depth");
  };
  EXPECT_GT(deeper(settings), 70);
}

TEST(Evolution, VisitsEveryGenomeOfASmallSpaceBeforeRepeatingMany) {
  // 4 * 2 * 2 = 16 genomes.
  const Space space = testing_support::space_named("categorical");
  ASSERT_EQ(space.cardinality(), 16);
  const auto searcher = make("evolution", space, 3);
  std::set<std::vector<double>> seen;
  for (TrialId id = 0; id < 16; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    seen.emplace(trial.genome.codes().begin(), trial.genome.codes().end());
    searcher->tell(trial, Measured{.values = {static_cast<double>(id)}});
  }
  EXPECT_EQ(seen.size(), 16u);
}

// Tells `losses` about five genomes that differ in `x` alone: 0, 1, 2, ...
void tell_line(Searcher& searcher, const Space& space, const std::vector<double>& losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto x = static_cast<std::int64_t>(i);
    const std::vector<std::pair<std::string, Value>> values = {{"x", x}, {"tag", 1000 * x}};
    searcher.tell({i, space.genome(values).value()}, Measured{.values = {losses[i]}});
  }
}

// Returns the parents of fifty children, identified by the choice that a child keeps.
std::set<double> parents_of_children(Searcher& searcher, std::size_t told) {
  std::set<double> parents;
  for (const Trial& child : searcher.ask(1000, 50)) {
    const double x = child.genome.number("x"), tag = child.genome.number("tag");
    const bool kept_x = x < static_cast<double>(told);
    const bool kept_tag =
        tag < 1000 * static_cast<double>(told) && static_cast<int>(tag) % 1000 == 0;
    if (kept_tag) parents.insert(tag / 1000);
    if (kept_x && !kept_tag) parents.insert(x);
  }
  return parents;
}

Space line_space() {
  return SpaceBuilder().add_int("x", 0, 1'000'000).add_int("tag", 0, 1'000'000).build().value();
}

TEST(Evolution, MutatesTheBestWhenItSamplesManyTimesThePopulation) {
  const Space space = line_space();
  const auto searcher = make("evolution", space, 1, {{"sample", "1000"}, {"startup", "5"}});
  tell_line(*searcher, space, {5, 4, 1, 3, 6});
  EXPECT_EQ(parents_of_children(*searcher, 5), std::set<double>{2});
}

TEST(Evolution, RetiresTheOldestEvenIfItIsTheBest) {
  const Space space = line_space();
  const auto searcher =
      make("evolution", space, 1, {{"population", "3"}, {"sample", "1000"}, {"startup", "3"}});
  tell_line(*searcher, space, {0, 4, 2, 3});
  EXPECT_EQ(parents_of_children(*searcher, 4), std::set<double>{2});
}

TEST(Evolution, ATrialThatIsToldAgainKeepsItsAge) {
  const Space space = line_space();
  const auto searcher =
      make("evolution", space, 1, {{"population", "3"}, {"sample", "1000"}, {"startup", "2"}});
  tell_line(*searcher, space, {0.5, 0.4, 0.6});
  tell_line(*searcher, space, {0.1});  // the oldest, again
  EXPECT_EQ(parents_of_children(*searcher, 4), std::set<double>{0});
  const std::vector<std::pair<std::string, Value>> values = {{"x", std::int64_t{3}},
                                                             {"tag", std::int64_t{3000}}};
  searcher->tell({3, space.genome(values).value()}, Measured{.values = {0.7}});
  EXPECT_EQ(parents_of_children(*searcher, 4), std::set<double>{1}) << "the oldest has left";
}

TEST(Evolution, ATrialThatFailsAfterAllHasNoOffspring) {
  const Space space = line_space();
  const auto searcher = make("evolution", space, 1, {{"sample", "1000"}, {"startup", "3"}});
  tell_line(*searcher, space, {5, 1, 2, 3});
  const std::vector<std::pair<std::string, Value>> values = {{"x", std::int64_t{1}},
                                                             {"tag", std::int64_t{1000}}};
  searcher->tell({1, space.genome(values).value()}, Failed{.cause = Cause::kCrashed});
  EXPECT_EQ(parents_of_children(*searcher, 4), std::set<double>{2});
}

TEST(Evolution, RefusesImpossibleOptions) {
  const auto searcher = make_searcher(
      "evolution", Space(), {.objectives = {minimize("loss")}, .options = {{"population", "1"}}});
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().message,
            "evolution: population is '1'; it must be a whole number from 2 to 10000");
}

}  // namespace
}  // namespace detol

// Sources of a search: how their trials are mapped, what they are worth, and when they lose it.

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "search/source_models.h"
#include "search/sources.h"
#include "search/starting_list.h"
#include "tests/search/warm_rows.h"

namespace detol::testing_support {
namespace {

Space plane() {
  return SpaceBuilder()
      .add_float("x", 0, 1)
      .add_float("y", 0, 1)
      .add_categorical("op", {"conv", "pool"})
      .build()
      .value();
}

double bowl(const Genome& genome, double x, double y) {
  const double dx = genome.number("x") - x, dy = genome.number("y") - y;
  return dx * dx + dy * dy + (genome.text("op") == "conv" ? 0 : 0.3);
}

// A study of the plane whose optimum is at (x, y); `sign` -1 turns good into bad.
Source bowl_source(double x, double y, double sign = 1, int trials = 60) {
  Source source{.name = "bowl", .space = plane(), .history = {}};
  Rng rng(5);
  for (int i = 0; i < trials; ++i) {
    const Genome genome = source.space.sample(rng);
    source.history.emplace_back(genome, Measured{.values = {sign * bowl(genome, x, y)}});
  }
  return source;
}

SearcherSettings settings_with(std::vector<Source> sources, std::uint64_t seed = 3) {
  return {
      .seed = seed, .objectives = {minimize("loss")}, .options = {}, .sources = std::move(sources)};
}

// Returns the trials of a search of the bowl at (0.3, 0.6).
std::vector<Trial> search(std::string_view name, const SearcherSettings& settings, TrialId count) {
  const auto searcher = make_searcher(name, plane(), settings).value();
  std::vector<Trial> trials;
  for (TrialId id = 0; id < count; ++id) {
    trials.push_back(searcher->ask(id, 1).at(0));
    searcher->tell(trials.back(), Measured{.values = {bowl(trials.back().genome, 0.3, 0.6)}});
  }
  return trials;
}

double best_of(const std::vector<Trial>& trials) {
  double best = 1e9;
  for (const Trial& trial : trials) best = std::min(best, bowl(trial.genome, 0.3, 0.6));
  return best;
}

MappedSource mapped(const Space& from, const std::vector<std::pair<std::string, Value>>& values,
                    const Space& to) {
  const Genome genome = from.genome(values).value();
  Source source{.name = "one", .space = from, .history = {}};
  for (double loss : {0.1, 0.2, 0.3})
    source.history.emplace_back(genome, Measured{.values = {loss}});
  const auto sources = mapped_sources(to, settings_with({source}));
  return sources.empty() ? MappedSource{} : sources.front();
}

TEST(Sources, MatchChoicesByNameAndClampNumbers) {
  const Space from =
      SpaceBuilder().add_float("lr", 0, 9).add_int("depth", 1, 9).add_bool("own").build().value();
  const Space to = SpaceBuilder()
                       .add_int("depth", 2, 6, {.step = 2})
                       .add_float("new", 0, 1)
                       .add_float("lr", 0, 1)
                       .build()
                       .value();
  const MappedSource source =
      mapped(from, {{"lr", 5.0}, {"depth", std::int64_t{9}}, {"own", true}}, to);
  ASSERT_EQ(source.trials.size(), 3u);
  EXPECT_EQ(source.shared, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(source.trials[0].genome.number("lr"), 1);
  EXPECT_EQ(source.trials[0].genome.number("depth"), 6);
}

TEST(Sources, DropTrialsOfUnknownCategories) {
  const Space from = SpaceBuilder().add_categorical("op", {"conv", "pool"}).build().value();
  const Space to = SpaceBuilder().add_categorical("op", {"skip", "conv"}).build().value();
  EXPECT_TRUE(mapped(from, {{"op", std::string("pool")}}, to).trials.empty());
  EXPECT_EQ(mapped(from, {{"op", std::string("conv")}}, to).trials.at(0).genome.text("op"), "conv");
}

TEST(Sources, AreLeftOutWhereTheyShareNothingOrKnowNothing) {
  Source flat = bowl_source(0.5, 0.5);
  for (auto& [genome, outcome] : flat.history) outcome = Measured{.values = {1}};
  Source failed = bowl_source(0.5, 0.5);
  for (auto& [genome, outcome] : failed.history) outcome = Failed{};
  const Source other = random_source("other", SpaceBuilder().add_float("z", 0, 1).build().value(),
                                     20, minimize("loss"));
  const Source empty{.name = "empty", .space = plane(), .history = {}};
  const auto settings = settings_with({flat, failed, other, empty, bowl_source(0.5, 0.5)});
  EXPECT_EQ(mapped_sources(plane(), settings).size(), 1u);
}

TEST(Sources, ThatCannotBeUsedChangeNothing) {
  const Source other = random_source("other", SpaceBuilder().add_float("z", 0, 1).build().value(),
                                     20, minimize("loss"));
  const Source empty{.name = "empty", .space = plane(), .history = {}};
  for (const SearcherRow& row : searchers()) {
    const auto cold = search(row.name, settings_with({}), 30);
    const auto warm = search(row.name, settings_with({other, empty}), 30);
    for (std::size_t i = 0; i < cold.size(); ++i)
      ASSERT_EQ(cold[i].genome, warm[i].genome) << row.name << " trial " << i;
  }
}

TEST(Sources, TheirBestAreTakenInTurnEachOnce) {
  const Space space = SpaceBuilder().add_int("x", 0, 9).build().value();
  const auto source_of = [&](const std::vector<std::int64_t>& best_first) {
    Source source{.name = "one", .space = space, .history = {}};
    for (const std::int64_t x : best_first) {
      const std::vector<std::pair<std::string, Value>> at = {{"x", x}};
      const auto loss = static_cast<double>(source.history.size());
      source.history.emplace_back(space.genome(at).value(), Measured{.values = {loss}});
    }
    return source;
  };
  const auto settings = settings_with({source_of({1, 2, 3, 4}), source_of({5, 1, 6})});
  std::vector<double> best;
  for (const Genome& genome : best_of_sources(space, mapped_sources(space, settings)))
    best.push_back(genome.number("x"));
  EXPECT_EQ(best, (std::vector<double>{1, 5, 2, 3, 6, 4}));
}

TEST(SourceModels, PredictTheirSourceAndIgnoreChoicesThatItLacks) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).add_float("new", 0, 1).build().value();
  Source source{
      .name = "line", .space = SpaceBuilder().add_float("x", 0, 1).build().value(), .history = {}};
  for (double x = 0; x <= 1; x += 0.05) {
    const std::vector<std::pair<std::string, Value>> at = {{"x", x}};
    source.history.emplace_back(source.space.genome(at).value(), Measured{.values = {x}});
  }
  const SourceModels models(space, mapped_sources(space, settings_with({source})), 1, 3);
  const Features features(space);
  const auto mean = [&](double x, double other) {
    const std::vector<std::pair<std::string, Value>> at = {{"x", x}, {"new", other}};
    return models.means(0, features.of(space.genome(at).value())).at(0);
  };
  EXPECT_LT(mean(0.1, 0.5), mean(0.5, 0.5));
  EXPECT_LT(mean(0.5, 0.5), mean(0.9, 0.5));
  EXPECT_EQ(mean(0.3, 0.1), mean(0.3, 0.9));
}

TEST(SourceModels, HaveTheGradientOfTheirMeans) {
  const Space space = plane();
  const SourceModels models(space, mapped_sources(space, settings_with({bowl_source(0.3, 0.6)})), 1,
                            3);
  const Features features(space);
  const std::vector<double> weights = {0.7};
  const Point at = features.of(space.at(std::vector<double>{0.4, 0.2, 0.1}));
  const std::vector<double> gradient = models.gradient(0, at, weights);
  for (std::size_t i = 0; i < 2; ++i) {
    Point low = at, high = at;
    low.numbers[i] -= 1e-5;
    high.numbers[i] += 1e-5;
    const double slope = (models.means(0, high)[0] - models.means(0, low)[0]) / 2e-5;
    EXPECT_NEAR(gradient[i], 0.7 * slope, 1e-4);
  }
}

TEST(SourceWeights, AMisleadingSourceLosesItsWeightWithinTenTrials) {
  Rng rng(1);
  std::vector<double> y, means;
  for (int i = 0; i < 10; ++i) {
    y.push_back(rng.normal());
    means.insert(means.end(), {-y.back(), y.back() + 0.2 * rng.normal()});
  }
  const std::vector<double> weights = source_weights(y, means, 2, Rng(2));
  EXPECT_LT(weights[0], 0.01);
  EXPECT_GT(weights[1], 0.5);
  std::vector<double> opposite;
  for (double value : y) opposite.push_back(-value);
  EXPECT_LT(source_weights(y, opposite, 1, Rng(2))[0], 0.01);
}

TEST(SourceWeights, DoNotDependOnWhatTheOutcomesAreCountedFrom) {
  Rng rng(1);
  std::vector<double> y, means, higher;
  for (int i = 0; i < 12; ++i) {
    y.push_back(rng.normal());
    means.push_back(y.back() + 0.3 * rng.normal());
    higher.push_back(y.back() + 7);
  }
  const std::vector<double> weights = source_weights(y, means, 1, Rng(2));
  EXPECT_GT(weights[0], 0.5);
  EXPECT_NEAR(source_weights(higher, means, 1, Rng(2))[0], weights[0], 1e-12);
}

TEST(StartingList, HasATrialThatIsGoodInEverySource) {
  const Space space = plane();
  const std::vector<Source> sources = {bowl_source(0.1, 0.1), bowl_source(0.15, 0.1),
                                       bowl_source(0.9, 0.9)};
  const auto list = starting_list(space, mapped_sources(space, settings_with(sources)), 3);
  ASSERT_GE(list.size(), 2u);
  ASSERT_LE(list.size(), kMostListed);
  double near_one = 1e9, near_other = 1e9;
  for (const Genome& genome : list) {
    near_one = std::min(near_one, bowl(genome, 0.1, 0.1));
    near_other = std::min(near_other, bowl(genome, 0.9, 0.9));
  }
  EXPECT_LT(near_one, 0.15);
  EXPECT_LT(near_other, 0.15);
}

TEST(StartingList, IsNotTheTopOfOneSource) {
  const Space space = plane();
  const auto one = bowl_source(0.1, 0.1);
  EXPECT_EQ(starting_list(space, mapped_sources(space, settings_with({one})), 3).size(), 1u);
  const auto twice = starting_list(space, mapped_sources(space, settings_with({one, one})), 3);
  EXPECT_EQ(twice.size(), 1u);
}

// Three trials of one source, and three of another on other data, whose values are far better but
// of another measure.
TEST(StartingList, BeginsWithTheBestThatWasMeasuredOnTheSameData) {
  const auto source_of = [](bool has_same_data, const std::vector<std::array<double, 3>>& points) {
    Source source{.name = "one", .space = plane(), .history = {}, .has_same_data = has_same_data};
    for (const auto& [x, y, loss] : points) {
      const std::vector<std::pair<std::string, Value>> at = {{"x", x}, {"y", y}, {"op", "conv"}};
      source.history.emplace_back(source.space.genome(at).value(), Measured{.values = {loss}});
    }
    return source;
  };
  const std::vector<Source> sources = {
      source_of(true, {{0.2, 0.3, 2.05}, {0.7, 0.1, 2.4}, {0.9, 0.9, 2.7}}),
      source_of(false, {{0.4, 0.4, 0.1}, {0.6, 0.2, 0.3}, {0.1, 0.1, 0.5}}),
      source_of(true, {{0.8, 0.6, 2.6}, {0.3, 0.8, 1.93}, {0.5, 0.5, 2.2}})};
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto list = starting_list(plane(), mapped_sources(plane(), settings_with(sources)), seed);
    ASSERT_FALSE(list.empty());
    EXPECT_EQ(list.front().number("x"), 0.3) << seed;
    EXPECT_EQ(list.front().number("y"), 0.8) << seed;
  }
}

TEST(StartingList, IsProposedInTurnWithTheSearchersOwnTrials) {
  const auto settings = settings_with({bowl_source(0.1, 0.1), bowl_source(0.9, 0.9)});
  const Space space = plane();
  const auto list = starting_list(space, mapped_sources(space, settings), settings.seed);
  const auto trials = make_searcher("random", space, settings).value()->ask(0, 8);
  const auto own = make_searcher("random", space, settings_with({})).value()->ask(0, 8);
  for (std::size_t i = 0; i < 8; ++i) {
    const bool is_listed = i % 2 == 0 && i / 2 < list.size();
    EXPECT_EQ(trials[i].genome, is_listed ? list[i / 2] : own[i].genome) << "trial " << i;
  }
}

TEST(StartingList, EndsWhereAnotherTrialIsBetter) {
  const auto settings = settings_with({bowl_source(0.1, 0.1), bowl_source(0.9, 0.9)});
  const auto searcher = make_searcher("random", plane(), settings).value();
  const auto own = make_searcher("random", plane(), settings_with({})).value();
  for (const Trial& trial : searcher->ask(0, 2))
    searcher->tell(trial, Measured{.values = {trial.id == 0 ? 1.0 : 0.5}});
  EXPECT_EQ(searcher->ask(2, 1).at(0).genome, own->ask(2, 1).at(0).genome);
}

TEST(StartingList, EndsAlsoWhereATrialBetweenItsLastTurnsIsBetter) {
  const auto settings =
      settings_with({bowl_source(0.1, 0.1), bowl_source(0.9, 0.9), bowl_source(0.1, 0.9)});
  const auto list = starting_list(plane(), mapped_sources(plane(), settings), settings.seed);
  ASSERT_GE(list.size(), 3u);
  const TrialId turn = 2 * list.size() - 2;  // the last of the list
  for (const double before : {0.5, 2.0}) {
    const auto searcher = make_searcher("random", plane(), settings).value();
    for (const Trial& trial : searcher->ask(0, static_cast<int>(turn))) {
      const double own = trial.id + 1 == turn ? before : 2.0;
      searcher->tell(trial, Measured{.values = {trial.id % 2 == 0 ? 1.0 : own}});
    }
    EXPECT_EQ(searcher->ask(turn, 1).at(0).genome == list.back(), before == 2.0);
  }
}

TEST(WarmStart, ASimilarStudySpeedsUpTheSearch) {
  int wins = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto cold = search("gp", settings_with({}, seed), 10);
    const auto warm = search("gp", settings_with({bowl_source(0.35, 0.6)}, seed), 10);
    wins += best_of(warm) < best_of(cold) ? 1 : 0;
  }
  EXPECT_GE(wins, 4);
}

TEST(WarmStart, AnAdversarialStudyDoesNotKeepTheSearchFromTheOptimum) {
  const auto warm = search("gp", settings_with({bowl_source(0.3, 0.6, -1)}), 30);
  EXPECT_LT(best_of(warm), 1e-3);
}

TEST(WarmStart, TheLearnersFirstTrialsAreBetter) {
  for (const char* name : {"reinforce", "qlearning", "evolution"}) {
    double cold = 0, warm = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      for (const Trial& trial : search(name, settings_with({}, seed), 20))
        cold += bowl(trial.genome, 0.3, 0.6);
      for (const Trial& trial : search(name, settings_with({bowl_source(0.3, 0.6)}, seed), 20))
        warm += bowl(trial.genome, 0.3, 0.6);
    }
    EXPECT_LT(warm, 0.95 * cold) << name;
  }
}

// Returns the mean over the seeds of the best loss of a search.
double mean_best(std::string_view name, const std::vector<Source>& sources, TrialId count) {
  constexpr std::uint64_t kSeeds = 10;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    sum += best_of(search(name, settings_with(sources, seed), count));
  return sum / static_cast<double>(kSeeds);
}

// Searchers that have no use for sources of their own begin with the starting list.
constexpr std::array kWithoutSourceModel = {"random", "sobol", "genetic", "nsga2",
                                            "local",  "tpe",   "cgp"};

TEST(WarmStart, EverySearcherFindsABetterTrialEarlyFromAGoodStudy) {
  for (const SearcherRow& row : searchers())
    EXPECT_LT(mean_best(row.name, {bowl_source(0.3, 0.6)}, 10), 0.8 * mean_best(row.name, {}, 10))
        << row.name;
}

TEST(WarmStart, ANegatedStudyCostsASearcherWithoutSourceModelTwoTrialsAtMost) {
  for (const char* name : kWithoutSourceModel)
    EXPECT_LE(mean_best(name, {bowl_source(0.3, 0.6, -1)}, 22), 1.05 * mean_best(name, {}, 20))
        << name;
}

TEST(WarmStart, ALearnerGetsOverANegatedStudyWithinTwentyTrials) {
  for (const char* name : {"reinforce", "qlearning", "evolution"})
    EXPECT_LE(mean_best(name, {bowl_source(0.3, 0.6, -1)}, 40), 1.5 * mean_best(name, {}, 20))
        << name;
}

}  // namespace
}  // namespace detol::testing_support

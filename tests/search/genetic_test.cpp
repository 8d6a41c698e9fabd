#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/searcher.h"
#include "tests/search/runs.h"

namespace detol {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

// Four choices of a thousand words.
Space words() {
  std::vector<std::string> thousand;
  for (int i = 0; i < 1000; ++i) thousand.push_back(std::to_string(i));
  SpaceBuilder builder;
  for (const char* name : {"a", "b", "c", "d"}) builder.add_categorical(name, thousand);
  return builder.build().value();
}

Genome all_of(const Space& space, const std::string& word) {
  const Values values = {{"a", word}, {"b", word}, {"c", word}, {"d", word}};
  return space.genome(values).value();
}

std::unique_ptr<Searcher> make(const Space& space, std::map<std::string, std::string> options) {
  return make_searcher("genetic", space,
                       {.seed = 5, .objectives = {minimize("loss")}, .options = std::move(options)})
      .value();
}

// Returns the words that fifty children have more often than mutation alone explains.
std::set<double> inherited(Searcher& searcher) {
  std::map<double, int> count;
  for (const Trial& child : searcher.ask(1000, 50)) {
    for (double code : child.genome.codes()) ++count[code];
  }
  std::set<double> codes;
  for (const auto& [code, times] : count) {
    if (times >= 4) codes.insert(code);
  }
  return codes;
}

TEST(Genetic, BeatsRandomOnASphere) {
  EXPECT_LT(testing_support::median_on_sphere("genetic"),
            0.5 * testing_support::median_on_sphere("random"));
}

TEST(Genetic, AChildHasChoicesOfBothParents) {
  const Space space = words();
  const auto searcher = make(space, {{"startup", "2"}, {"population", "2"}, {"tournament", "1"}});
  for (TrialId id = 0; id < 2; ++id)
    searcher->tell({id, all_of(space, std::to_string(id))}, Measured{.values = {1}});
  int of_both = 0;
  for (const Trial& child : searcher->ask(1000, 50)) {
    const std::set<double> codes(child.genome.codes().begin(), child.genome.codes().end());
    of_both += codes.contains(0) && codes.contains(1) ? 1 : 0;
  }
  EXPECT_GT(of_both, 10);
}

TEST(Genetic, KeepsTheBestAsParents) {
  const Space space = words();
  const auto searcher = make(space, {{"startup", "2"}, {"population", "2"}, {"tournament", "1"}});
  const std::vector<double> losses = {5, 1, 4, 2, 3};
  for (TrialId id = 0; id < losses.size(); ++id)
    searcher->tell({id, all_of(space, std::to_string(id))}, Measured{.values = {losses[id]}});
  EXPECT_EQ(inherited(*searcher), (std::set<double>{1, 3}));
}

// A search that keeps the older one stays where it is on a plateau.
TEST(Genetic, OfEqualTrialsKeepsTheNewer) {
  const Space space = words();
  const auto searcher = make(space, {{"startup", "2"}, {"population", "2"}, {"tournament", "1"}});
  for (TrialId id = 0; id < 4; ++id)
    searcher->tell({id, all_of(space, std::to_string(id))}, Measured{.values = {1}});
  EXPECT_EQ(inherited(*searcher), (std::set<double>{2, 3}));
}

TEST(Genetic, ATrialThatFailsAfterAllHasNoOffspring) {
  const Space space = words();
  const auto searcher = make(space, {{"startup", "2"}, {"population", "2"}, {"tournament", "1"}});
  const std::vector<double> losses = {5, 1, 4, 2, 3};
  for (TrialId id = 0; id < losses.size(); ++id)
    searcher->tell({id, all_of(space, std::to_string(id))}, Measured{.values = {losses[id]}});
  searcher->tell({1, all_of(space, "1")}, Failed{.cause = Cause::kCrashed});
  EXPECT_EQ(inherited(*searcher), (std::set<double>{3, 4}));
}

}  // namespace
}  // namespace detol

// Contract of every searcher, on every space of spaces.h. A new row in
// search/searchers.cpp is tested here with no further edit.

#include "tests/search/searcher_contract.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/table.h"
#include "tests/search/warm_rows.h"

namespace detol::testing_support {
namespace {

TEST_P(SearcherContract, NumbersTrialsFromTheFirstIdItWasGiven) {
  const auto searcher = make();
  TrialId expected = 100;
  for (const Trial& trial : searcher->ask(100, 4)) EXPECT_EQ(trial.id, expected++);
  EXPECT_LE(expected, 104u);
}

TEST_P(SearcherContract, ProposesAtLeastOneTrialAtTheStart) {
  EXPECT_FALSE(make()->ask(0, 1).empty());
}

TEST_P(SearcherContract, EveryProposalIsAGenomeOfTheSpace) {
  const auto searcher = make();
  for (TrialId id = 0; id < 60; ++id) {
    for (const Trial& trial : searcher->ask(id, 1)) {
      const auto read_back = space().genome(trial.genome.assignments());
      ASSERT_TRUE(read_back) << read_back.error().message;
      EXPECT_EQ(*read_back, trial.genome);
      searcher->tell(trial, measured(trial));
    }
  }
}

TEST_P(SearcherContract, AcceptsTrialsThatItDidNotPropose) {
  const auto searcher = make();
  Rng rng(1);
  for (TrialId id = 0; id < 20; ++id) {
    const Trial outside_trial{id, space().sample(rng)};
    searcher->tell(outside_trial, measured(outside_trial));
  }
  EXPECT_FALSE(searcher->ask(20, 1).empty());
}

TEST_P(SearcherContract, SameSeedSameTrials) {
  const auto a = make(), b = make();
  expect_same_asked(busy_log(*a, 60), busy_log(*b, 60));
}

TEST_P(SearcherContract, AnotherSeedOtherTrials) {
  if (space().cardinality() == 1) return;  // nothing to differ in
  const auto seven = make(7), eight = make(8);
  int different = 0;
  for (TrialId id = 0; id < 60; ++id) {
    const Trial a = seven->ask(id, 1).at(0), b = eight->ask(id, 1).at(0);
    different += a.genome == b.genome ? 0 : 1;
  }
  EXPECT_GT(different, 0);
}

TEST_P(SearcherContract, ExpectsTrialsThatItDidNotPropose) {
  const auto searcher = make();
  Rng rng(1);
  for (TrialId id = 0; id < 30; ++id) searcher->expect({id, space().sample(rng)});
  EXPECT_FALSE(searcher->ask(30, 1).empty());
}

// Counts the candidates of a space, of more than a few hundred only some.
std::size_t candidates_of(const Space& space) {
  std::set<std::uint64_t> identities;
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) identities.insert(space.identity(space.sample(rng)));
  return identities.size();
}

// The trials of these are draws, or points of a sequence, whatever else is running.
bool draws_by_number(std::string_view algorithm) {
  return algorithm == "random" || algorithm == "sobol" || algorithm == "design";
}

// With ever more of a small space known, finding what is left by chance would take too long:
// searchers need not find the last quarter of it.
TEST_P(SearcherContract, ProposesNoPendingCandidateWhileOthersAreLeft) {
  if (draws_by_number(GetParam().row.name)) return;
  const std::size_t candidates = candidates_of(space());
  for (const std::size_t workers : {1u, 8u, 64u}) {
    const auto searcher = make();
    std::set<std::uint64_t> known;
    std::deque<Trial> pending;
    for (TrialId id = 0; id < 120 && 4 * known.size() < 3 * candidates; ++id) {
      const Trial trial = searcher->ask(id, 1).at(0);
      const std::uint64_t identity = space().identity(trial.genome);
      for (const Trial& other : pending) {
        ASSERT_NE(space().identity(other.genome), identity)
            << "trial " << id << " is pending trial " << other.id << ", of " << workers;
      }
      known.insert(identity);
      pending.push_back(trial);
      if (pending.size() <= workers) continue;
      searcher->tell(pending.front(), measured(pending.front()));
      pending.pop_front();
    }
  }
}

TEST_P(SearcherContract, SurvivesThatEveryTrialFails) {
  const auto searcher = make();
  for (TrialId id = 0; id < 60; ++id) {
    const std::vector<Trial> trials = searcher->ask(id, 1);
    ASSERT_FALSE(trials.empty());
    searcher->tell(trials[0], Failed{.cause = Cause::kTooLarge});
  }
}

TEST_P(SearcherContract, SurvivesNaNAndInfinity) {
  const auto searcher = make();
  for (TrialId id = 0; id < 60; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    const double inf = std::numeric_limits<double>::infinity();
    const double values[] = {kNaN, inf, -inf, 1.0};
    searcher->tell(trial, Measured{.values = {values[id % 4]}});
  }
  EXPECT_EQ(searcher->ask(60, 1).size(), 1u);
}

TEST_P(SearcherContract, MaximizingIsMinimizingTheNegative) {
  const auto down = make(7, minimize("loss")), up = make(7, maximize("gain"));
  for (TrialId id = 0; id < 60; ++id) {
    const Trial a = down->ask(id, 1).at(0), b = up->ask(id, 1).at(0);
    ASSERT_EQ(a.genome, b.genome) << "trial " << id;
    const double loss = loss_of(space(), a.genome);
    down->tell(a, Measured{.values = {loss}});
    up->tell(b, Measured{.values = {-loss}});
  }
}

TEST_P(SearcherContract, ALaterTellReplacesTheEarlier) {
  // Told a wrong value first, then the right one: as if only the right one had been told.
  const auto corrected = make(), straight = make();
  Rng rng(9);
  std::vector<Trial> trials;
  for (TrialId id = 0; id < 12; ++id) trials.push_back({id, space().sample(rng)});
  for (const Trial& trial : trials) {
    corrected->tell(trial, Measured{.values = {-loss_of(space(), trial.genome)}});
    straight->tell(trial, measured(trial));
  }
  for (const Trial& trial : trials) corrected->tell(trial, measured(trial));
  for (TrialId id = 100; id < 120; ++id)
    EXPECT_EQ(corrected->ask(id, 1).at(0).genome, straight->ask(id, 1).at(0).genome);
}

TEST_P(SearcherContract, RefusesAnUnknownOptionByName) {
  const auto searcher = GetParam().row.make(
      space(), {.objectives = {minimize("loss")}, .options = {{"popluation", "9"}}});
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().code, ErrorCode::kInput);
  EXPECT_NE(searcher.error().message.find("popluation"), std::string::npos);
}

TEST_P(SearcherContract, NeedsAnObjective) {
  const auto searcher = make_searcher(GetParam().row.name, space(), {});
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().code, ErrorCode::kInput);
}

INSTANTIATE_TEST_SUITE_P(All, SearcherContract, testing::ValuesIn(all_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Constrained, SearcherContract, testing::ValuesIn(constrained_cases()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(WithSources, SearcherContract, testing::ValuesIn(warm_cases()), name_of);

TEST(Searchers, AnUnknownNameIsAUsageErrorWithAGuess) {
  const auto searcher =
      make_searcher("evoluton", Space(), {.objectives = {minimize("loss")}, .options = {}});
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().code, ErrorCode::kUsage);
  EXPECT_NE(searcher.error().message.find("did you mean 'evolution'?"), std::string::npos);
}

}  // namespace
}  // namespace detol::testing_support

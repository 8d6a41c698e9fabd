// What every searcher must honour, on every space of spaces.h. A new row in
// search/searchers.cpp is tested here with no further edit.

#include <algorithm>
#include <limits>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "search/searcher.h"
#include "tests/search/spaces.h"

namespace detol {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Case {
  SearcherRow row;
  testing_support::NamedSpace space;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.row.name << " on " << c.space.name;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const SearcherRow& row : searchers()) {
    for (const auto& space : testing_support::all_spaces()) cases.push_back({row, space});
  }
  return cases;
}

// A smooth loss of any genome: the squared distance of its active choices from 0.3.
double loss_of(const Space& space, const Genome& genome) {
  double loss = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!genome.is_active(i)) continue;
    const double offset = space.domains()[i].position_of(genome.codes()[i]) - 0.3;
    loss += offset * offset;
  }
  return loss;
}

struct Told {
  Trial trial;
  Outcome outcome;
};

class SearcherContract : public testing::TestWithParam<Case> {
 protected:
  const Space& space() const { return GetParam().space.space; }

  std::unique_ptr<Searcher> make(std::uint64_t seed = 7,
                                 const Objective& objective = minimize("loss")) const {
    return GetParam()
        .row.make(space(), {.seed = seed, .objectives = {objective}, .options = {}})
        .value();
  }

  Measured measured(const Trial& trial) const {
    return {.values = {loss_of(space(), trial.genome)}, .fidelity = 1, .work = 1};
  }

  // What eight workers make of the first `count` trials: outcomes of all kinds, told out of
  // order, some of them twice.
  std::vector<Told> busy_log(Searcher& searcher, TrialId count) const {
    std::vector<Told> log;
    std::vector<Trial> running;
    Rng rng(3);
    for (TrialId next = 0; log.size() < count;) {
      while (running.size() < 8) running.push_back(searcher.ask(next++, 1).at(0));
      const auto at = running.begin() + static_cast<std::ptrdiff_t>(rng.below(running.size()));
      Measured value = measured(*at);
      value.stopped_early = rng.chance(0.5);
      Outcome outcome = value;
      if (rng.chance(0.1)) outcome = Failed{.cause = Cause::kDiverged};
      if (rng.chance(0.1)) outcome = Measured{.values = {kNaN}};
      log.push_back({*at, outcome});
      searcher.tell(*at, outcome);
      if (rng.chance(0.8)) running.erase(at);  // else it is told again later
    }
    return log;
  }
};

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
  for (TrialId id = 0; id < 100; ++id) {
    for (const Trial& trial : searcher->ask(id, 1)) {
      const auto read_back = space().genome(trial.genome.assignments());
      ASSERT_TRUE(read_back) << read_back.error().message;
      EXPECT_EQ(*read_back, trial.genome);
      searcher->tell(trial, measured(trial));
    }
  }
}

TEST_P(SearcherContract, LearnsFromTrialsThatItDidNotPropose) {
  const auto searcher = make();
  Rng rng(1);
  for (TrialId id = 0; id < 20; ++id) {
    const Trial stranger{id, space().sample(rng)};
    searcher->tell(stranger, measured(stranger));
  }
  EXPECT_FALSE(searcher->ask(20, 1).empty());
}

TEST_P(SearcherContract, SameSeedSameTrials) {
  const auto a = make(), b = make();
  const auto left = busy_log(*a, 60), right = busy_log(*b, 60);
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].trial.id, right[i].trial.id);
    EXPECT_EQ(left[i].trial.genome, right[i].trial.genome) << "event " << i;
  }
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

TEST_P(SearcherContract, AskingChangesNothing) {
  const auto asked = make(), quiet = make();
  busy_log(*asked, 40);
  busy_log(*quiet, 40);
  for (TrialId id = 1000; id < 1020; ++id) (void)asked->ask(id, 3);
  EXPECT_EQ(asked->ask(2000, 1).at(0).genome, quiet->ask(2000, 1).at(0).genome);
}

TEST_P(SearcherContract, AskingForFourAtOnceIsAskingFourTimes) {
  const auto at_once = make(), singly = make();
  busy_log(*at_once, 40);
  busy_log(*singly, 40);
  const std::vector<Trial> batch = at_once->ask(500, 4);
  for (std::size_t i = 0; i < batch.size(); ++i)
    EXPECT_EQ(batch[i].genome, singly->ask(500 + i, 1).at(0).genome);
}

TEST_P(SearcherContract, ApplyingTheLogRebuildsIt) {
  const auto live = make(), resumed = make();
  for (const Told& told : busy_log(*live, 80)) resumed->tell(told.trial, told.outcome);
  for (TrialId id = 500; id < 520; ++id)
    EXPECT_EQ(live->ask(id, 1).at(0).genome, resumed->ask(id, 1).at(0).genome);
}

TEST_P(SearcherContract, SurvivesThatEveryTrialFails) {
  const auto searcher = make();
  for (TrialId id = 0; id < 100; ++id) {
    const std::vector<Trial> trials = searcher->ask(id, 1);
    ASSERT_FALSE(trials.empty());
    searcher->tell(trials[0], Failed{.cause = Cause::kTooLarge});
  }
}

TEST_P(SearcherContract, SurvivesNaNAndInfinity) {
  const auto searcher = make();
  for (TrialId id = 0; id < 100; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    const double inf = std::numeric_limits<double>::infinity();
    const double values[] = {kNaN, inf, -inf, 1.0};
    searcher->tell(trial, Measured{.values = {values[id % 4]}});
  }
}

TEST_P(SearcherContract, MaximizingIsMinimizingTheNegative) {
  const auto down = make(7, minimize("loss")), up = make(7, maximize("gain"));
  for (TrialId id = 0; id < 80; ++id) {
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

INSTANTIATE_TEST_SUITE_P(All, SearcherContract, testing::ValuesIn(all_cases()), [](const auto& c) {
  return std::string(c.param.row.name) + "_" + c.param.space.name;
});

TEST(Searchers, AnUnknownNameIsAUsageErrorWithAGuess) {
  const auto searcher =
      make_searcher("evoluton", Space(), {.objectives = {minimize("loss")}, .options = {}});
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().code, ErrorCode::kUsage);
  EXPECT_NE(searcher.error().message.find("did you mean 'evolution'?"), std::string::npos);
}

}  // namespace
}  // namespace detol

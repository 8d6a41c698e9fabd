// What every searcher must honour, on every space of spaces.h. A new row in
// search/searchers.cpp is tested here with no further edit.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "core/table.h"
#include "search/searcher.h"
#include "tests/search/fake_model.h"
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

// What a ledger says of a search, in order.
struct Asked {
  Trial trial;
};
struct Told {
  Trial trial;
  Outcome outcome;
};
using Step = std::variant<Asked, Told, Refit>;
using Log = std::vector<Step>;

void replay(const Step& step, Searcher& searcher) {
  if (const auto* asked = std::get_if<Asked>(&step)) searcher.expect(asked->trial);
  if (const auto* told = std::get_if<Told>(&step)) searcher.tell(told->trial, told->outcome);
  if (const auto* refit = std::get_if<Refit>(&step)) searcher.absorb(*refit);
}

// Does a searcher's slow work: each job is run so many asks after it was handed out.
class Hand {
 public:
  Hand(Searcher& searcher, int lateness) : searcher_(searcher), lateness_(lateness) {}

  void before_ask(Log& log) {
    if (!job_) take();
    while (job_ && age_ >= lateness_) absorb(log);
    ++age_;
  }

  // Until no work is due.
  void finish(Log& log) {
    if (!job_) take();
    while (job_) absorb(log);
  }

 private:
  void take() {
    job_ = searcher_.background();
    age_ = 0;
  }
  void absorb(Log& log) {
    Refit refit = (*job_)();
    searcher_.absorb(refit);
    refit.prepared.reset();  // a ledger has only the rest
    log.emplace_back(std::move(refit));
    take();
  }

  Searcher& searcher_;
  const int lateness_;
  std::optional<RefitJob> job_;
  int age_ = 0;
};

constexpr int kAtOnce = 0;         // work is done when it is due
constexpr int kNobody = -1;        // takes the searcher's work
constexpr TrialId kNext = 10'000;  // above all trials of a busy log

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

  // What eight workers make of a search until `tells` outcomes were told: of all kinds, out of
  // order, some of them twice. In the end no work is due, unless nobody does it.
  Log busy_log(Searcher& searcher, int tells, int lateness = kAtOnce) const {
    Log log;
    std::vector<Trial> running;
    Hand hand(searcher, lateness);
    Rng rng(3);
    for (TrialId next = 0; tells > 0; --tells) {
      while (running.size() < 8) {
        if (lateness != kNobody) hand.before_ask(log);
        running.push_back(searcher.ask(next++, 1).at(0));
        log.emplace_back(Asked{running.back()});
      }
      const auto at = running.begin() + static_cast<std::ptrdiff_t>(rng.below(running.size()));
      log.emplace_back(Told{*at, random_outcome(*at, rng)});
      replay(log.back(), searcher);
      if (rng.chance(0.8)) running.erase(at);  // else it is told again later
    }
    if (lateness != kNobody) hand.finish(log);
    return log;
  }

  Outcome random_outcome(const Trial& trial, Rng& rng) const {
    Measured value = measured(trial);
    value.stopped_early = rng.chance(0.5);
    Outcome outcome = value;
    if (rng.chance(0.1)) outcome = Failed{.cause = Cause::kDiverged};
    if (rng.chance(0.1)) outcome = Measured{.values = {kNaN}};
    return outcome;
  }

  void expect_same_proposals(Searcher& a, Searcher& b) const {
    for (TrialId id = kNext; id < kNext + 20; ++id)
      EXPECT_EQ(a.ask(id, 1).at(0).genome, b.ask(id, 1).at(0).genome) << "trial " << id;
  }

  void expect_same_asked(const Log& a, const Log& b) const {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto *left = std::get_if<Asked>(&a[i]), *right = std::get_if<Asked>(&b[i]);
      ASSERT_EQ(left == nullptr, right == nullptr) << "step " << i;
      if (left == nullptr) continue;
      EXPECT_EQ(left->trial.id, right->trial.id);
      EXPECT_EQ(left->trial.genome, right->trial.genome) << "step " << i;
    }
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
  for (TrialId id = 0; id < 60; ++id) {
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

std::string name_of(const testing::TestParamInfo<Case>& c) {
  return std::string(c.param.row.name) + "_" + c.param.space.name;
}

INSTANTIATE_TEST_SUITE_P(All, SearcherContract, testing::ValuesIn(all_cases()), name_of);

// What a search may rely on between its events, whoever does the slow work and when. A fake
// searcher with a model keeps it, too, so that the promises are tested as long as nobody else has
// one.
class EventContract : public SearcherContract {};

TEST_P(EventContract, AskingChangesNothingButWhatIsExpected) {
  const auto asked = make(), quiet = make();
  busy_log(*asked, 30);
  busy_log(*quiet, 30);
  for (TrialId id = 1000; id < 1030; id += 3) {
    for (const Trial& trial : asked->ask(id, 3)) quiet->expect(trial);
  }
  expect_same_proposals(*asked, *quiet);
}

TEST_P(EventContract, AskingForFourAtOnceIsAskingFourTimes) {
  const auto at_once = make(), singly = make();
  busy_log(*at_once, 30);
  busy_log(*singly, 30);
  const std::vector<Trial> batch = at_once->ask(kNext, 4);
  for (std::size_t i = 0; i < batch.size(); ++i)
    EXPECT_EQ(batch[i].genome, singly->ask(kNext + i, 1).at(0).genome);
}

TEST_P(EventContract, ExpectingTwiceOrAfterTheTellChangesNothing) {
  const auto once = make(), often = make();
  for (const Step& step : busy_log(*once, 30)) {
    replay(step, *often);
    if (const auto* asked = std::get_if<Asked>(&step)) often->expect(asked->trial);
    if (const auto* told = std::get_if<Told>(&step)) often->expect(told->trial);
  }
  EXPECT_FALSE(often->background());
  expect_same_proposals(*once, *often);
}

TEST_P(EventContract, ApplyingTheLogRebuildsIt) {
  const auto live = make(), resumed = make();
  for (const Step& step : busy_log(*live, 50)) replay(step, *resumed);
  EXPECT_FALSE(resumed->background());  // nothing that the log does not have
  expect_same_proposals(*live, *resumed);
}

TEST_P(EventContract, ApplyingALogInWhichWorkTookItsTimeRebuildsIt) {
  const auto live = make(), resumed = make();
  for (const Step& step : busy_log(*live, 40, 5)) replay(step, *resumed);
  EXPECT_FALSE(resumed->background());
  expect_same_proposals(*live, *resumed);
}

// A kill in the middle of a job: the resumed search gets the same work to do.
TEST_P(EventContract, ARebuiltSearcherHandsOutTheWorkThatWasDue) {
  const auto live = make(), resumed = make();
  for (const Step& step : busy_log(*live, 30)) replay(step, *resumed);
  std::optional<RefitJob> job;
  for (TrialId id = kNext; id < kNext + 60 && !job; ++id) {
    const Trial trial = live->ask(id, 1).at(0);
    resumed->expect(trial);
    for (Searcher* searcher : {live.get(), resumed.get()}) searcher->tell(trial, measured(trial));
    job = live->background();
  }
  const std::optional<RefitJob> again = resumed->background();
  ASSERT_EQ(again.has_value(), job.has_value());
  if (!job) return;  // it has no slow work
  const Refit one = (*job)(), other = (*again)();
  EXPECT_EQ(one.version, other.version);
  EXPECT_EQ(one.observations, other.observations);
  EXPECT_EQ(one.parameters, other.parameters);
}

TEST_P(EventContract, AskDoesTheWorkItselfIfNobodyTakesIt) {
  const auto attended = make(), alone = make();
  for (TrialId id = 0; id < 60; ++id) {
    if (const auto job = attended->background()) attended->absorb((*job)());
    const Trial a = attended->ask(id, 1).at(0), b = alone->ask(id, 1).at(0);
    ASSERT_EQ(a.genome, b.genome) << "trial " << id;
    attended->tell(a, measured(a));
    alone->tell(b, measured(b));
  }
}

TEST_P(EventContract, GoesOnProposingAndHandsOutNoSecondJobUntilTheFirstIsAbsorbed) {
  const auto searcher = make();
  int jobs = 0;
  for (TrialId id = 0; id < 60; ++id) {
    jobs += searcher->background() ? 1 : 0;
    const std::vector<Trial> trials = searcher->ask(id, 1);
    ASSERT_FALSE(trials.empty());
    searcher->tell(trials[0], measured(trials[0]));
  }
  EXPECT_LE(jobs, 1);
}

TEST_P(EventContract, AJobNeedsNothingOfItsSearcher) {
  auto searcher = make();
  std::optional<RefitJob> job;
  TrialId next = 0;
  const auto train_one = [&] {
    const Trial trial = searcher->ask(next++, 1).at(0);
    searcher->tell(trial, measured(trial));
  };
  while (!job && next < 60) {
    job = searcher->background();
    train_one();
  }
  if (!job) return;  // it has no slow work
  const Refit before = (*job)();
  for (int i = 0; i < 5; ++i) train_one();
  EXPECT_EQ((*job)().parameters, before.parameters);
  searcher.reset();
  EXPECT_EQ((*job)().parameters, before.parameters);
}

TEST_P(EventContract, RefitsNameASearcherAndCountTheirVersions) {
  const auto searcher = make();
  std::map<std::string, std::uint64_t> versions;
  for (const Step& step : busy_log(*searcher, 40)) {
    const auto* refit = std::get_if<Refit>(&step);
    if (refit == nullptr) continue;
    EXPECT_EQ(refit->version, ++versions[refit->model]);
    EXPECT_TRUE(find_row(searchers(), refit->model) || refit->model == GetParam().row.name);
  }
}

TEST_P(EventContract, IgnoresTheRefitOfAModelThatItDoesNotHave) {
  const auto searcher = make(), disturbed = make();
  busy_log(*searcher, 30);
  busy_log(*disturbed, 30);
  disturbed->absorb({.model = "no such model", .version = 9, .observations = 1, .parameters = {}});
  expect_same_proposals(*searcher, *disturbed);
}

std::vector<Case> all_cases_and_a_model() {
  std::vector<Case> cases = all_cases();
  cases.push_back({testing_support::kFakeModel, testing_support::all_spaces().front()});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EventContract, testing::ValuesIn(all_cases_and_a_model()), name_of);

TEST(Searchers, AnUnknownNameIsAUsageErrorWithAGuess) {
  const auto searcher =
      make_searcher("evoluton", Space(), {.objectives = {minimize("loss")}, .options = {}});
  ASSERT_FALSE(searcher);
  EXPECT_EQ(searcher.error().code, ErrorCode::kUsage);
  EXPECT_NE(searcher.error().message.find("did you mean 'evolution'?"), std::string::npos);
}

}  // namespace
}  // namespace detol

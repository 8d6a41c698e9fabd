// Contract of every searcher over sequences of events, no matter who runs its jobs and when. A new
// row in search/searchers.cpp is tested here with no further edit.

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "core/table.h"
#include "tests/search/fake_model.h"
#include "tests/search/searcher_contract.h"
#include "tests/search/warm_rows.h"

namespace detol::testing_support {
namespace {

// EventContract also runs on FakeModel, so that refits are tested even if no other searcher has a
// model.
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
  EXPECT_FALSE(resumed->background());  // the log has every refit
  expect_same_proposals(*live, *resumed);
}

TEST_P(EventContract, ApplyingALogInWhichWorkTookItsTimeRebuildsIt) {
  const auto live = make(), resumed = make();
  for (const Step& step : busy_log(*live, 40, 5)) replay(step, *resumed);
  EXPECT_FALSE(resumed->background());
  expect_same_proposals(*live, *resumed);
}

// After a kill in the middle of a job, the resumed searcher hands out the same job.
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
  cases.push_back({kFakeModel, all_spaces().front()});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Constrained, EventContract, testing::ValuesIn(constrained_cases()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(All, EventContract, testing::ValuesIn(all_cases_and_a_model()), name_of);
INSTANTIATE_TEST_SUITE_P(WithSources, EventContract, testing::ValuesIn(warm_cases()), name_of);

}  // namespace
}  // namespace detol::testing_support

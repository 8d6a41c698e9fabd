// What is asked of the process that runs a study: the files that it finds, and what is refused.

#include "studies/study_requests.h"

#include <thread>

#include "knowledge/artefacts.h"
#include "tests/studies/running_study.h"

namespace detol {
namespace {

class Requests : public testing_support::RunningStudy {
 protected:
  Result<std::filesystem::path> ask(const RunRequest& request) const {
    return ask_runner(storage(), opened("s"), request);
  }
  // Ends trial 2 by a failure, instead of the last one.
  void end_by(Cause cause) const {
    const std::vector<Event> end = {
        event::Told{.trial = 2, .state = TrialState::kFail, .outcome = Failed{.cause = cause}}};
    ASSERT_TRUE(ledger_->append(1, end));
  }
  std::vector<RunRequest> waiting() const { return requests_in(artefact_folder(storage(), "s")); }

  void expect_refused(const RunRequest& request, const std::string& why) const {
    const auto asked = ask(request);
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().code, ErrorCode::kUsage);
    EXPECT_NE(asked.error().message.find(why), std::string::npos) << asked.error().message;
    EXPECT_TRUE(waiting().empty());
  }
};

TEST_F(Requests, AddToTheBudgetAndTakeBackWhatMayBeTried) {
  const RunRequest more{.kind = RunRequest::kBudget, .budget = "+5trials"};
  const RunRequest retry{.kind = RunRequest::kRetry, .trial = 1};
  const RunRequest prune{.kind = RunRequest::kPrune, .trial = 3};
  for (const RunRequest& one : {more, retry, prune}) {
    const auto file = ask(one);
    ASSERT_TRUE(file) << file.error().message;
  }
  const RunRequest total{.kind = RunRequest::kBudget, .budget = "15trials"};
  EXPECT_EQ(waiting(), (std::vector<RunRequest>{prune, retry, total}));
}

TEST_F(Requests, PruneOnlyWhatIsTrainedAndRetryOnlyWhatFailed) {
  expect_refused({.kind = RunRequest::kPrune, .trial = 0}, "trial 0 is COMPLETE; only one that is");
  expect_refused({.kind = RunRequest::kPrune, .trial = 1}, "trial 1 is FAIL");
  expect_refused({.kind = RunRequest::kRetry, .trial = 0},
                 "trial 0 is COMPLETE; only one that fai");
  expect_refused({.kind = RunRequest::kRetry, .trial = 2}, "trial 2 is RUNNING");
  EXPECT_TRUE(ask({.kind = RunRequest::kPrune, .trial = 2}));
  EXPECT_EQ(ask({.kind = RunRequest::kPrune, .trial = 9}).error().code, ErrorCode::kEmpty);
}

TEST_F(Requests, RetryNothingThatWouldFailAgain) {
  for (const Cause cause : {Cause::kDiverged, Cause::kTooLarge, Cause::kInvalid}) {
    end_by(cause);
    expect_refused({.kind = RunRequest::kRetry, .trial = 2}, "and would again");
  }
  for (const Cause cause : {Cause::kCrashed, Cause::kTimeout, Cause::kOutOfMemory}) {
    end_by(cause);
    const auto asked = ask({.kind = RunRequest::kRetry, .trial = 2});
    EXPECT_TRUE(asked) << asked.error().message;
  }
}

TEST_F(Requests, ChangeABudgetOnlyByWhatIsAddedToALimitThatItHas) {
  expect_refused({.kind = RunRequest::kBudget, .budget = "5trials"}, "+20trials");
  expect_refused({.kind = RunRequest::kBudget, .budget = "+1h"}, "has no such limit");
  expect_refused({.kind = RunRequest::kBudget, .budget = "+5trials,+1x"}, "'x' is not a unit");
}

TEST_F(Requests, ToAStudyThatNobodyRunsSayWhatToDoInstead) {
  ledger_.reset();
  expect_refused({.kind = RunRequest::kStop}, "nobody runs study s");
  expect_refused({.kind = RunRequest::kRetry, .trial = 1}, "`detol resume s --retry-failed`");
  expect_refused({.kind = RunRequest::kBudget, .budget = "+5trials"},
                 "`detol resume s --budget +5trials`");
}

TEST_F(Requests, AreAnsweredOnceTheirFileIsGone) {
  const RunRequest stop{.kind = RunRequest::kStop};
  std::jthread runner([&](const std::stop_token& ends) {
    while (waiting().empty() && !ends.stop_requested()) std::this_thread::yield();
    remove_request(artefact_folder(storage(), "s"), stop);
  });
  const auto answered = ask_runner_and_wait(storage(), opened("s"), stop);
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_TRUE(*answered);
}

using RequestsToCallers = testing_support::StudyBase;

// Whoever evaluates the trials decides which of them end early.
TEST_F(RequestsToCallers, AreOnlyToStop) {
  begin(
      "version: 1\nstudy: s\nexternal: {}\nparameters: {x: {type: float, low: 0, high: 1}}\n"
      "objectives: [{metric: loss, direction: minimize}]\n");
  const auto ledger = Ledger::open(storage()).value();
  ASSERT_TRUE(ledger->open_study("s"));
  EXPECT_TRUE(ask_runner(storage(), opened("s"), {.kind = RunRequest::kStop}));
  const RunRequest more{.kind = RunRequest::kBudget, .budget = "+5trials"};
  const auto refused = ask_runner(storage(), opened("s"), more);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace detol

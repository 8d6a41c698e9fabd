// What `status`, `studies` and requests say of a study that runs.

#include <map>

#include "encodings/study/study_config.h"
#include "knowledge/artefacts.h"
#include "knowledge/requests.h"
#include "report/gathering/live_study.h"
#include "studies/study_requests.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

// Of ten trials of its budget four have begun: 0 is complete after 10 s, 1 failed before it
// reported, 2 runs, 3 waits for another worker, and 4 was proposed.
class Status : public testing_support::CommandOnBase {
 protected:
  void SetUp() override {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
    ledger_ = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config.text;
    record.objectives = config.objectives;
    record.budget = "10trials";
    const StudyId study = ledger_->create_study(record).value();
    std::vector<Event> events;
    for (TrialId id = 0; id < 5; ++id) {
      event::Asked asked;
      asked.trial = id;
      asked.params = config.space.at(std::vector<double>{0.1 * double(id), 0.5}).assignments();
      events.emplace_back(asked);
      if (id < 4) events.emplace_back(event::Started{id, 1, "w" + std::to_string(id), 1000});
    }
    event::Reported reported;
    reported.epoch = 1;
    reported.metrics = {{"value", 0.5}};
    reported.train_s = 10;
    events.emplace_back(reported);
    events.emplace_back(event::Told{.trial = 0, .outcome = Measured{.values = {0.5}}});
    events.emplace_back(event::Told{
        .trial = 1, .state = TrialState::kFail, .outcome = Failed{.cause = Cause::kOutOfMemory}});
    events.emplace_back(
        event::Requeued{.trial = 3, .attempt = 1, .reason = {RequeueCause::kWorkerGone}});
    events.emplace_back(event::Accounted{.wall_s = 100, .device_s = 50});
    ASSERT_TRUE(ledger_->append(study, events));
  }

  std::unique_ptr<Ledger> ledger_;  // which runs the study
};

TEST_F(Status, CountsTrialsAndTimeAsTheyAre) {
  const Json status = json({"status", "s"});
  const std::map<std::string, int> counts = {{"trials", 5},  {"trained", 1},  {"running", 1},
                                             {"waiting", 2}, {"complete", 1}, {"pruned", 0},
                                             {"failed", 1}};
  for (const auto& [column, count] : counts) EXPECT_EQ(status[column], count) << column;
  EXPECT_EQ(status["budget_used"], "40 %");
  EXPECT_EQ(status["utilisation"], "20 %");
  EXPECT_EQ(status["workers"], "w2");
}

TEST_F(Status, AfterTheEndSaysHowManyProposalsNobodyTried) {
  ASSERT_TRUE(ledger_->append(
      1, std::vector<Event>{event::StudyState{StudyPhase::kDone, "10trials", 2000}}));
  const std::string situation = json({"status", "s"})["situation"];
  EXPECT_EQ(situation.find("done, 1 proposals not tried"), 0u) << situation;
}

TEST_F(Status, HasItsTrialsOnPagesOfWhichTheLastIsTheFurthest) {
  const OpenStudy study = open_study(storage(), "s").value();
  for (const std::size_t page : {0, 1, 99}) {
    const Json table = Json::parse(
        trials_by_number(study, {.is_descending = false, .page = page}).value(), nullptr, false);
    EXPECT_EQ(table["trials"]["trial"], (Json{0, 1, 2, 3, 4})) << page;
  }
}

// What asks the search of the study: nobody answers, so that its files say what was asked.
class Requests : public Status {
 protected:
  std::string refusal_of(const std::vector<std::string>& words) const {
    const Answer answer = run(words);
    return answer.code ? std::string() : answer.code.error().message;
  }
};

TEST_F(Requests, AddToTheBudgetAndTakeBackWhatMayBeTried) {
  const OpenStudy study = open_study(storage(), "s").value();
  const RunRequest more{.kind = RunRequest::kBudget, .budget = "+5trials"};
  const RunRequest retry{.kind = RunRequest::kRetry, .trial = 1};
  const RunRequest prune{.kind = RunRequest::kPrune, .trial = 3};
  for (const RunRequest& one : {more, retry, prune}) {
    const auto file = ask_runner(storage(), study, one);
    ASSERT_TRUE(file) << file.error().message;
  }
  const RunRequest total{.kind = RunRequest::kBudget, .budget = "15trials"};
  EXPECT_EQ(requests_in(artefact_folder(storage(), "s")),
            (std::vector<RunRequest>{prune, retry, total}));
}

TEST_F(Requests, AreRefusedWhereTheyCannotBeGranted) {
  EXPECT_NE(refusal_of({"trial", "s", "0", "--prune"}).find("trial 0 is COMPLETE"),
            std::string::npos);
  EXPECT_NE(refusal_of({"trial", "s", "0", "--retry"}).find("trial 0 is COMPLETE"),
            std::string::npos);
  EXPECT_NE(refusal_of({"study", "budget", "s", "5trials"}).find("+20trials"), std::string::npos);
  EXPECT_NE(refusal_of({"study", "budget", "s", "+1h"}).find("has no such limit"),
            std::string::npos);
  EXPECT_NE(refusal_of({"resume", "s", "--budget", "+5trials,+1x"}).find("'x' is not a unit"),
            std::string::npos);
}

}  // namespace
}  // namespace detol

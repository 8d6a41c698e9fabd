// What `status`, `studies` and requests say of a study that runs.

#include <map>

#include "encodings/study/study_config.h"
#include "knowledge/artefacts.h"
#include "knowledge/requests.h"
#include "report/gathering/live_study.h"
#include "studies/study_requests.h"
#include "tests/cli/command_on_base.h"
#include "tests/studies/running_study.h"

namespace detol {
namespace {

class Status : public testing_support::CommandsOn<testing_support::RunningStudy> {};

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

// Nobody answers.
TEST_F(Status, OfARequestThatCannotBeGrantedSaysWhy) {
  const Answer unit = run({"resume", "s", "--budget", "+5trials,+1x"});
  ASSERT_FALSE(unit.code);
  EXPECT_NE(unit.code.error().message.find("'x' is not a unit"), std::string::npos);
  for (const char* asks : {"--prune", "--retry"}) {
    const Answer answer = run({"trial", "s", "0", asks});
    ASSERT_FALSE(answer.code);
    EXPECT_NE(answer.code.error().message.find("trial 0 is COMPLETE"), std::string::npos);
  }
}

}  // namespace
}  // namespace detol

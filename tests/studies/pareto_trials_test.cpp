#include <limits>

#include <gtest/gtest.h>

#include "knowledge/ledger.h"
#include "studies/best_trial.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Values {
  double accuracy, loss;
  double violation = 0;
};

// The ids of the Pareto set of trials that reported these values.
std::vector<TrialId> front_of(const std::vector<Objective>& objectives,
                              const std::vector<Values>& trials) {
  const testing_support::TempFolder folder;
  const std::string storage = (folder.path() / "detol.db").string();
  auto ledger = Ledger::open(storage).value();
  StudyRecord record;
  record.name = "s";
  record.config = "version: 1\nstudy: s\nfunction: {name: sphere}\n";
  record.objectives = objectives;
  const StudyId study = ledger->create_study(record).value();
  for (TrialId id = 0; id < trials.size(); ++id) {
    event::Asked asked;
    asked.trial = id;
    event::Started started;
    started.trial = id;
    event::Reported reported;
    reported.trial = id;
    reported.epoch = 1;
    reported.metrics = {{"accuracy", trials[id].accuracy},
                        {"loss", trials[id].loss},
                        {std::string(kViolationMetric), trials[id].violation}};
    const std::vector<Event> events = {asked, started, reported};
    EXPECT_TRUE(ledger->append(study, events));
  }
  const auto front = pareto_trials(open_study(storage, "s").value());
  EXPECT_TRUE(front) << front.error().message;
  std::vector<TrialId> ids;
  if (front) std::ranges::transform(*front, std::back_inserter(ids), &TrialSummary::id);
  return ids;
}

using Ids = std::vector<TrialId>;
const std::vector<Objective> kBoth = {maximize("accuracy"), minimize("loss")};

TEST(ParetoTrials, AreTheTrialsThatNoOtherBeatsInEverything) {
  EXPECT_EQ(front_of(kBoth, {{0.7, 0.3}, {0.9, 0.5}, {0.8, 0.6}, {0.6, 0.4}, {0.8, 0.4}}),
            (Ids{0, 1, 4}));
}

TEST(ParetoTrials, HaveTheFirstOfEqualTrials) {
  EXPECT_EQ(front_of(kBoth, {{0.7, 0.3}, {0.7, 0.3}}), Ids{0});
}

TEST(ParetoTrials, LeaveOutATrialThatLacksANumber) {
  EXPECT_EQ(front_of(kBoth, {{0.9, kNaN}, {0.7, 0.3}}), Ids{1});
}

TEST(ParetoTrials, LeaveOutATrialThatBreaksAConstraint) {
  EXPECT_EQ(front_of(kBoth, {{0.9, 0.1, 0.5}, {0.7, 0.3}}), Ids{1});
  EXPECT_EQ(front_of({maximize("accuracy")}, {{0.9, 0.1, 0.5}, {0.7, 0.3}}), Ids{1});
}

TEST(ParetoTrials, OfOneObjectiveAreTheBest) {
  EXPECT_EQ(front_of({maximize("accuracy")}, {{0.7, 0.3}, {0.9, 0.5}, {0.8, 0.1}}), Ids{1});
}

TEST(ParetoTrials, OfAStudyWithoutReportsAreNone) {
  const testing_support::TempFolder folder;
  const std::string storage = (folder.path() / "detol.db").string();
  StudyRecord record;
  record.name = "s";
  record.objectives = kBoth;
  ASSERT_TRUE(Ledger::open(storage).value()->create_study(record));
  const auto front = pareto_trials(open_study(storage, "s").value());
  ASSERT_FALSE(front);
  EXPECT_EQ(front.error().code, ErrorCode::kEmpty);
}

}  // namespace
}  // namespace detol

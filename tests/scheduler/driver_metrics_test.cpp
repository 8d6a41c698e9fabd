// What the driver adds to the reports of trials, and what it does about constraints.

#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::Mishap;

TEST(Driver, CompletesReportsWithTheCostsThatAreObjectives) {
  FakeStudy study;
  study.config.objectives = {minimize("loss"), minimize("params"), minimize("train_time")};
  study.cost_metrics = [](const Candidate&) {
    return std::vector<std::pair<std::string, double>>{{"params", 1234}};
  };
  ASSERT_TRUE(study.run());
  FakeStudy resumed(1, study.ledger);  // from the ledger alone
  resumed.config.objectives = study.config.objectives;
  ASSERT_TRUE(resumed.replay());
  for (const TrialRecord& trial : resumed.driver->state().trials()) {
    ASSERT_EQ(trial.values.size(), 3u);
    EXPECT_EQ(trial.values[1], 1234);
    EXPECT_EQ(trial.values[2], trial.epochs * study.pool.epoch_s);
  }
}

TEST(Driver, RecordsTheLatencyOfTheFirstReportAndWhenTheTargetWasReached) {
  FakeStudy study;
  study.config.objectives = {minimize("loss"), minimize("latency"), minimize("epochs_to_target")};
  study.config.latency_batch = 1;
  study.config.epochs_target = Target{.metric = "loss", .at_least = false, .value = 0.6};
  study.budget = "2trials";
  study.pool.loss = [](const message::Train& train, int epoch) {
    return train.trial == 0 ? 1.0 / epoch : 1.0;  // trial 0 reaches it after two epochs
  };
  study.pool.others = [](const message::Train& train, int epoch) {  // a later attempt has none
    return epoch == 1 && train.attempt == 1 ? NamedMetrics{{"latency", 0.25}} : NamedMetrics();
  };
  study.pool.mishap = [](const message::Train& train, int epoch) {
    return train.attempt == 1 && epoch == 2 ? Mishap::kKilled : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  FakeStudy resumed(1, study.ledger);  // from the ledger alone
  resumed.config.objectives = study.config.objectives;
  ASSERT_TRUE(resumed.replay());
  EXPECT_EQ(resumed.trial(0).values, (std::vector{0.25, 0.25, 2.0}));
  EXPECT_EQ(resumed.trial(1).values, (std::vector{1.0, 0.25, 5.0}));  // of four epochs: never
}

TEST(Driver, ATrialThatBreaksAConstraintIsNeverTheBest) {
  FakeStudy study;
  study.config.metric_constraints = {{.metric = "loss", .low = 0.5}};
  study.budget = "3trials";
  study.pool.loss = [](const message::Train& train, int epoch) {
    return train.trial == 1 && epoch == 4 ? 0.25 : 2.0 - 0.1 * static_cast<double>(train.trial);
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.driver->state().best()->trial.id, 2u);
  for (const auto& report : events_of<event::Reported>(study.ledger)) {
    const auto& [name, violation] = report.metrics.back();
    EXPECT_EQ(name, kViolationMetric);
    EXPECT_EQ(violation, report.trial == 1 && report.epoch == 4 ? 0.5 : 0);
  }
}

TEST(Driver, TrialsThatAWorkerRefusesAsTooSlowCountAgainstNoBudgetAndEndNoStudy) {
  FakeStudy study;
  study.budget = "2trials";
  study.pool.mishap = [](const message::Train& train, int) {
    return train.trial < 15 ? Mishap::kTooSlow : Mishap::kNone;
  };
  ASSERT_TRUE(study.run());
  EXPECT_EQ(study.trial(0).failure, Cause::kTooLarge);
  EXPECT_EQ(study.driver->state().succeeded(), 2);
  EXPECT_EQ(study.driver->state().trials().size(), 17u);
}

}  // namespace
}  // namespace detol

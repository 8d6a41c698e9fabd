// A trial as a value, read and checked once.

#include "studies/trial_summary.h"

#include <cmath>

#include "tests/studies/running_study.h"

namespace detol {
namespace {

using Summaries = testing_support::RunningStudy;

// A row as trial_rows() has it, with these cells instead.
Rows row_with(std::vector<std::pair<std::string, Cell>> cells) {
  Rows rows{.columns = {"trial", "state", "value", "values", "params", "epochs", "best_epoch",
                        "flops", "device_seconds", "arch_hash", "failure", "reason"},
            .rows = {{std::int64_t{7}, std::string("COMPLETE"), 0.5, std::string(R"({"loss":0.5})"),
                      std::string(R"({"x0":0.25})"), 3.0, 2.0, std::int64_t{10}, 1.5,
                      std::string("00112233445566aa"), Cell(), Cell()}}};
  for (auto& [column, cell] : cells) {
    const auto at = std::ranges::find(rows.columns, column) - rows.columns.begin();
    rows.rows[0][static_cast<std::size_t>(at)] = std::move(cell);
  }
  return rows;
}

TEST_F(Summaries, HaveWhatTheirRowSays) {
  const TrialSummary trial = trial_in(row_with({}), 0).value();
  EXPECT_EQ(trial.id, 7u);
  EXPECT_EQ(trial.state, TrialState::kComplete);
  EXPECT_EQ(trial.value, 0.5);
  EXPECT_EQ(trial.epochs, 3);
  EXPECT_EQ(trial.best_epoch, 2);
  EXPECT_EQ(trial.flops, 10);
  EXPECT_EQ(trial.device_s, 1.5);
  EXPECT_EQ(trial.arch_hash, "00112233445566aa");
  EXPECT_EQ(trial.parameters, (std::vector<std::pair<std::string, Value>>{{"x0", 0.25}}));
}

TEST_F(Summaries, KeepNumbersThatAreNotFiniteAsTheyWereReported) {
  const TrialSummary trial =
      trial_in(row_with({{"value", Cell()},
                         {"values", std::string(R"({"loss":"Infinity","acc":null,"f1":0.5})")}}),
               0)
          .value();
  EXPECT_TRUE(std::isnan(trial.value));
  ASSERT_EQ(trial.metrics.size(), 3u);
  for (const char* metric : {"loss", "acc", "none"})
    EXPECT_TRUE(std::isnan(metric_of(trial, metric))) << metric;
  EXPECT_EQ(metric_of(trial, "f1"), 0.5);
}

TEST_F(Summaries, OfATrialThatReportedNothingHaveNoMetrics) {
  const TrialSummary trial =
      trial_in(row_with({{"values", Cell()}, {"epochs", Cell()}, {"best_epoch", Cell()}}), 0)
          .value();
  EXPECT_TRUE(trial.metrics.empty());
  EXPECT_EQ(trial.epochs, 0);
}

TEST_F(Summaries, OfDamagedRowsAreRefused) {
  for (const auto& [column, cell] :
       std::vector<std::pair<std::string, Cell>>{{"state", std::string("HALF")},
                                                 {"values", std::string("[1]")},
                                                 {"values", std::string("{")},
                                                 {"params", std::string("3")},
                                                 {"params", Cell()}}) {
    const auto trial = trial_in(row_with({{column, cell}}), 0);
    ASSERT_FALSE(trial) << column;
    EXPECT_EQ(trial.error().code, ErrorCode::kStorage);
    EXPECT_NE(trial.error().message.find("trial 7"), std::string::npos);
  }
}

TEST_F(Summaries, OfFinishedTrialsAreThoseThatEndedWithAScore) {
  const event::Reported early{.trial = 2, .epoch = 1, .metrics = {{"value", 0.1}}};
  ASSERT_TRUE(ledger_->append(1, std::vector<Event>{early}));
  const OpenStudy study = opened("s");
  const auto finished = finished_trials(study).value();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].id, 0u);
  const auto none = finished_trials(study, std::vector<TrialId>{1, 2});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kEmpty);
}

TEST_F(Summaries, HaveTheStatesOfTheirTrials) {
  const auto trials = trials_of(opened("s"), {}).value();
  std::vector<TrialState> states;
  for (const TrialSummary& one : trials) states.push_back(one.state);
  EXPECT_EQ(states,
            (std::vector<TrialState>{TrialState::kComplete, TrialState::kFail, TrialState::kRunning,
                                     TrialState::kWaiting, TrialState::kWaiting}));
  EXPECT_EQ(trials[1].failure, "oom");
  EXPECT_EQ(trial_numbered(opened("s"), 3).value().id, 3u);
}

TEST_F(Summaries, SayWhichTrialIsMissingAndWhereToLook) {
  const auto none = trial_numbered(opened("s"), 5);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kEmpty);
  EXPECT_EQ(none.error().message, "study s has no trial 5 (detol trials s)");
}

TEST_F(Summaries, NameTheTrialWhoseWeightsATrialBeganWith) {
  event::Asked asked;
  asked.trial = 5;
  asked.inherits = ParentWeights{.trial = 2};
  ASSERT_TRUE(ledger_->append(1, std::vector<Event>{asked}));
  EXPECT_EQ(inherited_by(opened("s"), 5).value(), 2u);
  EXPECT_EQ(inherited_by(opened("s"), 4).value(), std::nullopt);
  EXPECT_EQ(inherited_by(opened("s"), 9).value(), std::nullopt);
}

}  // namespace
}  // namespace detol

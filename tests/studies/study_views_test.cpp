// What is shown of a study and of its trials: its state, a trial's curve and history, and the
// columns that lists get.

#include <cmath>

#include <gtest/gtest.h>

#include "core/log.h"
#include "studies/best_trial.h"
#include "studies/compared_studies.h"
#include "studies/model_rows.h"
#include "studies/study_requests.h"
#include "studies/study_status.h"
#include "studies/trial_columns.h"
#include "studies/trial_views.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

const Cell kNothing;

// Trial 0 trained for two epochs, in its second attempt; 1 has reported nothing yet.
class StudyViews : public testing::Test {
 protected:
  void SetUp() override { write("s", {0.5, 0.25}); }

  // Writes a study that minimizes `value`, with a trial that reported these values.
  void write(const std::string& name, const std::vector<double>& values,
             const std::string& space = "{name: sphere}", std::uint64_t data = 0) const {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: " + space + "\n", "s.yaml").value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = name;
    record.config = config.text;
    record.objectives = config.objectives;
    record.data_fingerprint = data;
    record.created_s = 1000;
    event::Asked asked;
    asked.params = config.space.at(std::vector<double>{0.1, 0.5}).assignments();
    asked.proposer = "random";
    std::vector<Event> events = {
        asked, event::Started{0, 1, "w0"},
        event::Requeued{.trial = 0, .attempt = 1, .reason = {RequeueCause::kWorkerGone}},
        event::Started{0, 2, "w1"}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      event::Reported reported;
      reported.attempt = 2;
      reported.epoch = static_cast<int>(i) + 1;
      reported.metrics = {{"value", values[i]}};
      if (i == 1) reported.metrics.emplace_back("late", std::nan(""));
      events.emplace_back(reported);
    }
    if (!values.empty())
      events.emplace_back(event::Told{.trial = 0, .outcome = Measured{{values.back()}}});
    asked.trial = 1;
    events.emplace_back(asked);
    ASSERT_TRUE(ledger->append(ledger->create_study(record).value(), events));
  }

  std::string storage() const { return (folder_.path() / "detol.db").string(); }
  OpenStudy study() const { return open_study(storage(), "s").value(); }

  testing_support::TempFolder folder_;
};

TEST_F(StudyViews, ACurveHasARowForEachEpochAndAColumnForEachMetric) {
  const Rows curve = curve_rows(study(), 0).value();
  EXPECT_EQ(curve.columns, (std::vector<std::string>{"epoch", "value", "late"}));
  ASSERT_EQ(curve.rows.size(), 2u);
  EXPECT_EQ(curve.rows[0], (std::vector<Cell>{std::int64_t{1}, 0.5, kNothing}));
  EXPECT_EQ(curve.rows[1][1], Cell(0.25));
  EXPECT_TRUE(std::isnan(cell_number(curve.rows[1][2])));
  EXPECT_EQ(curve_rows(study(), 1).error().code, ErrorCode::kEmpty);
}

TEST_F(StudyViews, AHistoryIsOfOneTrialAndInItsOrder) {
  const Rows history = history_rows(study(), 0).value();
  std::vector<std::string> events;
  for (const auto& row : history.rows) events.push_back(std::get<std::string>(row[0]));
  EXPECT_EQ(events, (std::vector<std::string>{"asked", "started", "requeued", "started", "reported",
                                              "reported", "told"}));
  EXPECT_EQ(history.rows[3][1], Cell("attempt 2 on w1"));
  EXPECT_EQ(history.rows[4][1], Cell("attempt 2, epoch 1: value 0.5 (0.0 s)"));
  EXPECT_EQ(history_rows(study(), 1)->rows.size(), 1u);
}

TEST_F(StudyViews, ATrialOfAFunctionHasNoNetworkToShow) {
  const auto rows = network_rows(study(), trial_called(study(), "0").value());
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kEmpty);
}

TEST_F(StudyViews, ARowSaysWhoProposedATrial) {
  const Rows why = reason_row(study(), trial_called(study(), "1").value()).value();
  ASSERT_EQ(why.rows.size(), 1u);
  EXPECT_EQ(cell(why, 0, "proposer"), Cell("random"));
  EXPECT_EQ(cell(why, 0, "trial"), Cell(std::int64_t{1}));
}

TEST_F(StudyViews, TheStatusOfAStudyThatNobodyRunsIsThatItWasKilled) {
  const Rows status = status_of(study(), storage()).value();
  EXPECT_EQ(cell(status, 0, "state"), Cell("KILLED"));
  EXPECT_EQ(cell(status, 0, "situation"), Cell("killed; resume with `detol resume s`"));
  EXPECT_EQ(cell(status, 0, "complete"), Cell(std::int64_t{1}));
  EXPECT_EQ(cell(status, 0, "chosen"), kNothing);
}

TEST_F(StudyViews, AListOfStudiesSaysWhoRunsEach) {
  write("t", {});
  const auto reader = Reader::open(storage()).value();
  const Rows studies = study_rows(*reader, storage()).value();
  ASSERT_EQ(studies.rows.size(), 2u);
  EXPECT_EQ(studies.columns[2], "run_by");
  EXPECT_EQ(cell(studies, 1, "study"), Cell("t"));
  EXPECT_EQ(cell(studies, 1, "run_by"), kNothing);
}

TEST_F(StudyViews, AColumnIsInsertedBehindAnother) {
  Rows rows{.columns = {"a", "b"}, .rows = {{"1", "2"}, {"3", "4"}}};
  insert_column("new", "a", {"x", kNothing}, rows);
  EXPECT_EQ(rows.columns, (std::vector<std::string>{"a", "new", "b"}));
  EXPECT_EQ(rows.rows[0], (std::vector<Cell>{"1", "x", "2"}));
  EXPECT_EQ(rows.rows[1], (std::vector<Cell>{"3", kNothing, "4"}));
}

TEST_F(StudyViews, TrialsGetTheScoresOfTheirTestOnlyWhereOneHasThem) {
  const std::vector<TrialSummary> trials = {trial_called(study(), "1").value(),
                                            trial_called(study(), "0").value()};
  Rows rows = rows_of(study(), trials).value();
  EXPECT_EQ(trial_of(rows, 0), 1u);
  const std::vector<std::string> before = rows.columns;
  ASSERT_TRUE(add_test_scores(study(), rows));
  ASSERT_TRUE(add_cross_validation(study(), rows));
  EXPECT_EQ(rows.columns, before);
  ASSERT_TRUE(ModelRecord::open(storage(), "s")
                  ->save(std::vector<event::Model>{{.model = 1,
                                                    .state = ModelState::kComplete,
                                                    .epochs = 2,
                                                    .metrics = {{"test_loss", 0.5}}}}));
  ASSERT_TRUE(add_test_scores(study(), rows));
  EXPECT_EQ(cell(rows, 0, "test"), kNothing);
  EXPECT_EQ(cell(rows, 1, "test"), Cell(R"({"test_loss":0.5})"));
}

TEST_F(StudyViews, AStudyThatNobodyRunsIsNotAskedToStop) {
  EXPECT_TRUE(stop_study(storage(), "s"));
  EXPECT_FALSE(std::filesystem::exists(storage() + ".d/s"));
  EXPECT_EQ(stop_study(storage(), "t").error().code, ErrorCode::kStudy);
  EXPECT_EQ(stop_study(storage(), "").error().code, ErrorCode::kStudy);
}

TEST_F(StudyViews, StudiesAreComparedWithTheFirst) {
  write("better", {0.1});
  const ComparedStudies compared = compare_studies(storage(), {"s", "better"}).value();
  EXPECT_EQ(compared.counts, (std::vector<std::size_t>{1, 1, 1, 1}));
  EXPECT_EQ(cell(compared.rows, 0, "verdict"), kNothing);
  EXPECT_EQ(cell(compared.rows, 0, "best"), Cell(0.25));
  EXPECT_EQ(cell(compared.rows, 1, "p_better"), Cell(1.0));
  EXPECT_EQ(compare_studies(storage(), {"s", "s"}).error().code, ErrorCode::kUsage);
  write("nothing", {});
  EXPECT_EQ(compare_studies(storage(), {"s", "nothing"}).error().code, ErrorCode::kEmpty);
}

}  // namespace
}  // namespace detol

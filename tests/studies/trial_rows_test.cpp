#include "studies/trial_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "knowledge/ledger.h"
#include "studies/best_trial.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

// A study of four trials: 0 and 2 complete, 1 pruned with the best value, 3 diverged.
class TrialRows : public testing::Test {
 protected:
  void SetUp() override {
    config_ = read_study_config(DETOL_SOURCE_DIR "/configs/cnn.yaml").value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config_.text;
    record.objectives = {maximize("val_accuracy")};
    const StudyId study = ledger->create_study(record).value();
    const double accuracy[] = {0.7, 0.9, 0.8, std::numeric_limits<double>::quiet_NaN()};
    for (TrialId id = 0; id < 4; ++id) {
      event::Asked asked;
      asked.trial = id;
      asked.params = params_of(id);
      event::Started started;
      started.trial = id;
      event::Reported reported;
      reported.trial = id;
      reported.epoch = 1;
      reported.metrics = {{"val_accuracy", accuracy[id]}, {"val_loss", 0.1 * double(id)}};
      event::Told told;
      told.trial = id;
      if (id == 3) told.state = TrialState::kFail;
      if (id == 1) told.state = TrialState::kPruned;
      told.outcome = Measured{.values = {accuracy[id]}};
      const std::vector<Event> events = {asked, started, reported, told};
      ASSERT_TRUE(ledger->append(study, events));
    }
  }

  std::vector<std::pair<std::string, Value>> params_of(TrialId id) const {
    Rng rng = Rng(1).split(id);
    return config_.space.sample(rng).assignments();
  }

  // Appends trial 4, which has reported these metrics, and what happened to it then.
  void add_trial(std::vector<std::pair<std::string, double>> metrics,
                 const std::vector<Event>& then) const {
    event::Asked asked;
    asked.trial = 4;
    asked.params = params_of(4);
    event::Reported reported;
    reported.trial = 4;
    reported.epoch = 1;
    reported.metrics = std::move(metrics);
    std::vector<Event> events = {asked, event::Started{4, 1, "w"}, reported};
    events.insert(events.end(), then.begin(), then.end());
    ASSERT_TRUE(Ledger::open(storage()).value()->append(1, events));
  }

  std::string storage() const { return (folder_.path() / "detol.db").string(); }

  std::vector<std::int64_t> ids(const TrialFilter& filter) const {
    const auto rows = trial_rows(open_study(storage(), "s").value(), filter);
    EXPECT_TRUE(rows) << rows.error().message;
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; rows && i < rows->rows.size(); ++i)
      found.push_back(std::get<std::int64_t>(cell(*rows, i, "trial")));
    return found;
  }

  testing_support::TempFolder folder_;
  StudyConfig config_;
};

using Ids = std::vector<std::int64_t>;

TEST_F(TrialRows, AreInTheOrderOfTheirNumbers) {
  EXPECT_EQ(ids({}), (Ids{0, 1, 2, 3}));
}

TEST_F(TrialRows, SortAnObjectiveBestFirstAndNaNLast) {
  EXPECT_EQ(ids({.sort = "val_accuracy"}), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(ids({.sort = "value", .top = 2}), (Ids{1, 2}));
}

TEST_F(TrialRows, SortAnotherMetricSmallestFirst) {
  EXPECT_EQ(ids({.sort = "val_loss"}), (Ids{0, 1, 2, 3}));
}

TEST_F(TrialRows, FilterByStateMetricAndParameter) {
  EXPECT_EQ(ids({.state = "COMPLETE"}), (Ids{0, 2}));
  EXPECT_EQ(ids({.where = "val_loss > 0.15 AND state <> 'FAIL'"}), Ids{2});
  const double lr = config_.space.genome(params_of(2))->number("lr");
  EXPECT_EQ(ids({.where = fmt::format("abs(lr - {}) < 1e-12", lr)}), Ids{2});
}

TEST_F(TrialRows, TheBestIsScoredWhetherCompleteOrPruned) {
  const auto study = open_study(storage(), "s").value();
  const auto best = trial_called(study, "best");
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_EQ(best->id, 1u);
  EXPECT_EQ(best->state, TrialState::kPruned);
}

TEST_F(TrialRows, OfEqualValuesThatOfACompleteTrialIsTheBetter) {
  add_trial({{"val_accuracy", 0.9}}, {event::Told{.trial = 4, .outcome = Measured{{0.9}}}});
  EXPECT_EQ(ids({.sort = "value"}), (Ids{4, 1, 2, 0, 3}));
  EXPECT_EQ(ids({.sort = "value", .only_scored = true}), (Ids{4, 1, 2, 0}));
}

TEST_F(TrialRows, TheBestKeepsToItsConstraints) {
  add_trial({{"val_accuracy", 0.99}, {std::string(kViolationMetric), 0.5}}, {});
  EXPECT_EQ(ids({.sort = "value", .top = 1}), Ids{4});
  EXPECT_EQ(ids({.sort = "value", .top = 1, .only_feasible = true}), Ids{1});
}

TEST_F(TrialRows, AreFinishedWhetherCompleteOrPruned) {
  const auto trials = finished_trials(open_study(storage(), "s").value()).value();
  EXPECT_EQ(trials.size(), 3u);
}

TEST_F(TrialRows, AreOfTheNewestStudyIfNoneIsNamed) {
  auto ledger = Ledger::open(storage()).value();
  for (const auto& [name, created_s] : {std::pair("new", 300.0), std::pair("old", 200.0)}) {
    StudyRecord record;
    record.name = name;
    record.created_s = created_s;
    record.objectives = {maximize("val_accuracy")};
    ASSERT_TRUE(ledger->create_study(record));
  }
  EXPECT_EQ(open_study(storage(), "")->record.name, "new");
}

TEST_F(TrialRows, GiveBackTheGenomeThatWasAsked) {
  const auto study = open_study(storage(), "s").value();
  const auto trials = trials_of(study, {}).value();
  for (TrialId id = 0; id < 4; ++id) {
    const auto genome = genome_of(config_, trials[id]);
    ASSERT_TRUE(genome) << genome.error().message;
    EXPECT_EQ(genome->assignments(), params_of(id));
  }
}

TEST_F(TrialRows, AreValuesWithTheNumbersThatWereReported) {
  const auto trials = trials_of(open_study(storage(), "s").value(), {}).value();
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(metric_of(trials[2], "val_accuracy"), trials[2].value);
  EXPECT_EQ(metric_of(trials[2], "val_loss"), 0.2);
  EXPECT_TRUE(std::isnan(metric_of(trials[2], "no_such")));
  EXPECT_TRUE(std::isnan(metric_of(trials[3], "val_accuracy"))) << "NaN was reported";
  EXPECT_EQ(trials[2].epochs, 1);
  EXPECT_EQ(trials[3].state, TrialState::kFail);
}

TEST_F(TrialRows, SayWhichNameOrNumberIsUnknown) {
  const auto study = open_study(storage(), "s").value();
  const auto sorted = trial_rows(study, {.sort = "val_acuracy"});
  ASSERT_FALSE(sorted);
  EXPECT_EQ(sorted.error().code, ErrorCode::kUsage);
  EXPECT_NE(sorted.error().message.find("did you mean 'val_accuracy'?"), std::string::npos);
  EXPECT_EQ(trial_rows(study, {.where = "no_such > 1"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(trial_rows(study, {.where = "1) UNION SELECT (2"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(trial_called(study, "first").error().code, ErrorCode::kUsage);
  EXPECT_EQ(trial_called(study, "99").error().code, ErrorCode::kEmpty);
}

TEST_F(TrialRows, AMissingStudyIsNamedWithTheNearest) {
  const auto study = open_study(storage(), "S");
  ASSERT_FALSE(study);
  EXPECT_EQ(study.error().code, ErrorCode::kStudy);
}

}  // namespace
}  // namespace detol

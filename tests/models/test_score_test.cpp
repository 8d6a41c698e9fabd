#include "models/test_score.h"

#include <bit>

#include "scheduler/trial_seed.h"
#include "tests/models/linear_study.h"

namespace detol {
namespace {

TEST(TestScore, NeedsATestPart) {
  OpenStudy study;
  study.record.name = "tiny";
  StudyData shared;
  shared.data.emplace();
  shared.data->info.test = 1;
  EXPECT_TRUE(check_has_test(study, shared));
  shared.data->info.test = 0;
  const auto refused = check_has_test(study, shared);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEmpty);
  EXPECT_EQ(refused.error().message, "the data of study tiny have no test part");
}

TEST(TestScore, SaysTheTwinOfTheFirstObjective) {
  OpenStudy study;
  study.record.objectives = {{.metric = "val_auc", .direction = Direction::kMaximize}};
  event::Model model;
  model.metrics = {{"test_accuracy", 0.5}, {"test_auc", 0.75}};
  model.intervals = {{"test_accuracy", 0.4, 0.6}, {"test_auc", 0.7, 0.8}};
  EXPECT_EQ(said_metric(study, model), "test_auc");
  EXPECT_EQ(with_interval(model, "test_auc"), "test_auc 0.75 (95 % interval 0.7 to 0.8)");
  study.record.objectives.front().metric = "flops";
  EXPECT_EQ(said_metric(study, model), "test_accuracy");
}

TEST(TestScore, OfSeveralModelsIsTheirMeanAndStandardDeviation) {
  std::vector<event::Model> models(3);
  for (int i = 0; i < 3; ++i) models[i].metrics = {{"test_accuracy", 1.0 + i}};
  EXPECT_EQ(with_deviation(models, "test_accuracy"), "test_accuracy 2 ± 1");
}

class LineTestScore : public testing_support::LinearStudy {
 protected:
  event::Model tested(TrialId id) const {
    const OpenStudy study = opened("lin");
    const auto model = TestBench(study, storage()).of_trial(trial(id));
    EXPECT_TRUE(model) << model.error().message;
    return model.value_or(event::Model());
  }
  double accuracy(TrialId id) const { return *metric_of(tested(id), "test_accuracy"); }
  std::vector<event::Model> models() const { return models_of(opened("lin")).value(); }

  // Returns what is said after a search.
  std::string said(const std::string& study = "lin") const {
    testing::internal::CaptureStderr();
    say_test_score(storage(), study);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LineTestScore, IsOfTheTestPart) {
  write_study({{.slope = 1}, {.slope = -1}, {.slope = 100, .offset = -45}});
  EXPECT_EQ(accuracy(0), 3.0 / 5);
  EXPECT_EQ(accuracy(1), 2.0 / 5);
  EXPECT_EQ(accuracy(2), 1.0);
}

TEST_F(LineTestScore, IsRecordedAsAModelWithWhatTheTrialReported) {
  write_study({{}, {.accuracy = 0.75}});
  tested(0);
  const event::Model model = tested(1);
  EXPECT_EQ(model.model, 2);
  EXPECT_EQ(model.trial, 1u);
  EXPECT_EQ(model.kind, ModelKind::kTestedTrial);
  EXPECT_EQ(model.state, ModelState::kComplete);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(model.seed), trial_seed(config_.seed, 1));
  EXPECT_EQ(model.epochs, 1);
  EXPECT_EQ(model.folder, "1");
  EXPECT_EQ(metric_of(model, "val_accuracy"), 0.75);
  EXPECT_EQ(models().size(), 2u);
}

TEST_F(LineTestScore, IsMeasuredOnceAndThenKnownWithoutTheData) {
  write_study({{}});
  const event::Model first = tested(0);
  std::filesystem::remove(path("lin.csv"));
  EXPECT_EQ(tested(0).model, first.model);
  EXPECT_EQ(accuracy(0), 3.0 / 5);
  EXPECT_EQ(models().size(), 1u);
}

TEST_F(LineTestScore, IsMeasuredAgainOnceTheBestEpochIsAnother) {
  write_study({{.slope = 1}});
  EXPECT_EQ(accuracy(0), 3.0 / 5);
  report(*Ledger::open(storage()).value(), 0, {.slope = 100, .offset = -45, .best_epoch = 2}, 2);
  EXPECT_EQ(accuracy(0), 1.0);
  EXPECT_EQ(models().size(), 2u);
}

TEST_F(LineTestScore, OfTheBestTrialIsSaidAfterASearch) {
  write_study({{.accuracy = 0.9}, {.slope = 100, .offset = -45, .accuracy = 0.8}});
  EXPECT_NE(said().find("trial 0: test_accuracy 0.6 (95 % interval "), std::string::npos);
  std::vector<Event> folds;
  for (const auto& [trial, value] : {std::pair(TrialId{0}, 0.6), {TrialId{1}, 0.7}})
    folds.emplace_back(event::Model{.model = 10 + static_cast<std::int64_t>(trial),
                                    .trial = trial,
                                    .kind = ModelKind::kCrossValidated,
                                    .state = ModelState::kComplete,
                                    .trained_on = "2 of 5 folds",
                                    .first = 10,
                                    .metrics = {{"val_accuracy", value}}});
  append(1, folds);
  const std::string chosen = said();
  EXPECT_NE(chosen.find("trial 1: test_accuracy 1 (95 % interval "), std::string::npos) << chosen;
  EXPECT_NE(chosen.find("val_accuracy 0.8, 0.7 by cross-validation (2 of 5 folds)"),
            std::string::npos)
      << chosen;
}

TEST_F(LineTestScore, IsNotSaidOfAStudyThatTrainsNothing) {
  const StudyConfig config =
      load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
  append_trial(*Ledger::open(storage()).value(), begin(config), 0,
               config.space.at(std::vector<double>{0.5, 0.5}), {{"value", 1.0}});
  EXPECT_EQ(said("s"), "");
}

TEST_F(LineTestScore, ThatIsNotKnownIsAWarning) {
  write_study({{}});
  std::filesystem::remove_all(trial_folder(0));
  EXPECT_NE(said().find("the test score is not known"), std::string::npos);
}

}  // namespace
}  // namespace detol

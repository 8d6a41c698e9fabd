#include "models/test_score.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace detol

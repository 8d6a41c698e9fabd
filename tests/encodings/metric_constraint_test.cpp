#include "encodings/study/metric_constraint.h"

#include <cmath>

#include <gtest/gtest.h>

#include "encodings/network/task.h"

namespace detol {
namespace {

TEST(MetricConstraint, IsBrokenByTheShareOfItsBound) {
  const MetricConstraint both{.metric = "m", .low = 1, .high = 4};
  EXPECT_EQ(violation_of(both, 1), 0);
  EXPECT_EQ(violation_of(both, 4), 0);
  EXPECT_EQ(violation_of(both, 5), 0.25);
  EXPECT_EQ(violation_of(both, 0.5), 0.5);
  EXPECT_EQ(violation_of({.metric = "m", .high = 0}, 3), 3);
  EXPECT_TRUE(std::isinf(violation_of(both, std::nan(""))));
}

TEST(MetricConstraint, IsKeptByTheShareOfTheNearerBound) {
  const MetricConstraint both{.metric = "m", .low = 1, .high = 4};
  EXPECT_EQ(excess_of(both, 3), -0.25);
  EXPECT_EQ(excess_of(both, 1.5), -0.5);
  EXPECT_EQ(excess_of(both, 5), 0.25);
  EXPECT_EQ(excess_of({.metric = "m", .low = -2}, 1), -1.5);
  EXPECT_EQ(excess_of({.metric = "m", .high = 0}, -3), -3);
  EXPECT_TRUE(std::isinf(excess_of(both, std::nan(""))));
}

// What is an error, a loss or a distance is better if it is smaller, every other metric if larger.
TEST(Metrics, HaveTheDirectionOfWhatTheyMeasure) {
  for (const char* metric : {"val_loss", "train_loss", "val_ece", "val_mae", "val_rmse"})
    EXPECT_FALSE(is_better_if_larger(metric)) << metric;
  for (const char* metric : {"val_accuracy", "train_accuracy", "val_f1", "val_balanced_accuracy",
                             "val_auc", "val_average_precision", "val_mcc", "val_top5", "val_r2"})
    EXPECT_TRUE(is_better_if_larger(metric)) << metric;
}

TEST(Metrics, HaveOneDirectionInEverySplit) {
  for (const TaskRow& task : tasks()) {
    for (const std::string_view metric : task.metrics) {
      const std::string measure(metric.substr(metric.find('_') + 1));
      for (const char* split : {"val_", "train_", "test_"})
        EXPECT_EQ(is_better_if_larger(split + measure), is_better_if_larger(metric)) << measure;
    }
  }
  EXPECT_TRUE(is_better_if_larger("test_accuracy"));
}

// A program's metric is minimized unless the study says otherwise.
TEST(Metrics, OfOtherNamesAreBetterIfSmaller) {
  for (const char* metric : {"", "accuracy", "test_", "val_speed", "test_accuracy_2", "xval_f1"})
    EXPECT_FALSE(is_better_if_larger(metric)) << metric;
}

}  // namespace
}  // namespace detol

#include "trainer/schedule.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Schedule, ConstantIsTheRateItself) {
  const Recipe recipe{.lr = 0.3, .epochs = 2, .schedule = "constant"};
  for (std::int64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(learning_rate(recipe, step, 10), 0.3);
  }
}

TEST(Schedule, WarmUpRisesInEqualStepsToTheRate) {
  const Recipe recipe{.lr = 0.4, .epochs = 3, .schedule = "constant", .warmup_epochs = 0.5};
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 8), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 1, 8), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 2, 8), 0.3);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 3, 8), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 4, 8), 0.4);
}

TEST(Schedule, CosineFallsFromTheRateToZeroAtTheEnd) {
  const Recipe recipe{.lr = 1.0, .epochs = 4, .schedule = "cosine"};
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 3), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 4, 3), 0.75);  // (1 + cos 60 deg) / 2
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 6, 3), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 8, 3), 0.25);
  EXPECT_NEAR(learning_rate(recipe, 11, 3), 0.017037, 1e-6);  // (1 + cos 165 deg) / 2
}

TEST(Schedule, CosineStartsWhereWarmUpEnds) {
  const Recipe recipe{.lr = 0.2, .epochs = 3, .schedule = "cosine", .warmup_epochs = 1};
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 3, 4), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 4, 4), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 8, 4), 0.1);
}

TEST(Schedule, WarmUpMayFillTheWholeTraining) {
  const Recipe recipe{.lr = 1.0, .epochs = 2, .schedule = "cosine", .warmup_epochs = 2};
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 7, 4), 1.0);
}

TEST(Schedule, LinearFallsInEqualStepsToZeroAtTheEnd) {
  const Recipe recipe{.lr = 0.6, .epochs = 4, .schedule = "linear", .warmup_epochs = 1};
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 3, 3), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 6, 3), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 9, 3), 0.2);
}

TEST(Schedule, StepFallsAfterItsMilestones) {
  Recipe recipe{.lr = 1.0, .epochs = 8, .schedule = "step"};
  recipe.milestones = {5, 2};
  recipe.gamma = 0.5;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 2 * 10 - 1, 10), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 2 * 10, 10), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 5 * 10 - 1, 10), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 5 * 10, 10), 0.25);
}

TEST(Schedule, StepWithoutMilestonesFallsEverySoManyEpochs) {
  Recipe recipe{.lr = 1.0, .epochs = 7, .schedule = "step"};
  recipe.every_epochs = 3;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 5, 2), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 6, 2), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 12, 2), 0.01);
}

// T = 20, rise 0.3: the top is at step 5, the end at step 19.
TEST(Schedule, OneCycleGoesUpAndDownAlongCosines) {
  const Recipe recipe{.lr = 1.0, .epochs = 2, .schedule = "one_cycle"};
  const double first = 1.0 / 25, last = first / 1e4;
  EXPECT_NEAR(learning_rate(recipe, 0, 10), first, 1e-15);
  EXPECT_NEAR(learning_rate(recipe, 1, 10), 0.131672, 1e-6);  // 1 - 0.96 (1 + cos 36 deg) / 2
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 5, 10), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 12, 10), (1 + last) / 2);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 19, 10), last);
}

TEST(Schedule, OneCycleMayRiseInNoOrOneStep) {
  Recipe recipe{.lr = 1.0, .epochs = 2, .schedule = "one_cycle"};
  recipe.rise = 0.5;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 1), 1.0);  // the top is the first of two steps
  recipe.rise = 0;
  EXPECT_LT(learning_rate(recipe, 0, 1), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 1, 1), 1.0 / 25 / 1e4);
}

TEST(Schedule, ScalesTheRateWithTheBatchWhereAsked) {
  Recipe recipe{.lr = 0.1, .batch_size = 1024, .epochs = 1, .schedule = "constant"};
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 1), 0.1);
  recipe.scale_lr = "linear";
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 1), 0.4);
  recipe.scale_lr = "sqrt";
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 1), 0.2);
  recipe.base_batch = 64;
  EXPECT_DOUBLE_EQ(learning_rate(recipe, 0, 1), 0.4);
}

}  // namespace
}  // namespace detol

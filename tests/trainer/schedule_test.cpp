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

}  // namespace
}  // namespace detol

// The small parts: targets, what may change between runs.

#include <gtest/gtest.h>

#include "scheduler/study_difference.h"
#include "scheduler/target.h"

namespace detol {
namespace {

TEST(Target, ReadsBothDirections) {
  const Target high = parse_target("val_accuracy>=0.9").value();
  EXPECT_TRUE(high.is_reached_by(0.9));
  EXPECT_FALSE(high.is_reached_by(0.89));
  const Target low = parse_target("val_loss<=3e-1").value();
  EXPECT_TRUE(low.is_reached_by(0.3));
  EXPECT_FALSE(low.is_reached_by(0.31));
  EXPECT_EQ(to_text(parse_target(to_text(low)).value()), to_text(low));
}

TEST(Target, RefusesAnythingElse) {
  for (const char* text : {"", "val_loss", "val_loss=3", ">=3", "val_loss<3",
                           "val_loss<=", "a>=nan", "a>=3x", "a>=inf"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(StudyDifference, OnlyBudgetAndResourcesMayChange) {
  const char* begun =
      "version: 1\nseed: 4\nbudget: 1h\nresources:\n  workers: 2\ntraining:\n  epochs: 9\n";
  EXPECT_TRUE(same_study(begun, begun));
  EXPECT_TRUE(
      same_study(begun, "version: 1\nseed: 4\nresources:\n  workers: 3\ntraining:\n  epochs: 9\n"));
  const auto other = same_study(begun, "version: 1\nseed: 4\ntraining:\n  epochs: 8\n");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("'  epochs: 9', now '  epochs: 8'"), std::string::npos);
  EXPECT_FALSE(same_study(begun, "version: 1\nseed: 4\n"));
}

}  // namespace
}  // namespace detol

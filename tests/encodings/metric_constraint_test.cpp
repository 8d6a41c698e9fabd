#include "encodings/study/metric_constraint.h"

#include <cmath>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace detol

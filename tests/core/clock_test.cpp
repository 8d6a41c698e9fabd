#include "core/clock.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Clock, NeverRunsBackwards) {
  double last = system_clock().now_s();
  for (int i = 0; i < 1000; ++i) {
    const double now = system_clock().now_s();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, WallTimeIsInSecondsSince1970) {
  EXPECT_GT(system_clock().wall_s(), 1.6e9);  // after September 2020
  EXPECT_LT(system_clock().wall_s(), 1e10);   // no milliseconds
}

}  // namespace
}  // namespace detol

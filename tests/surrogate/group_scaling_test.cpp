// What measured times say of groups of other sizes.

#include "surrogate/group_scaling.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

// Times that follow T = 2e-9 w^0.8 b^-0.1 g^-exponent.
std::vector<MeasuredTime> times_of(std::initializer_list<int> sizes, double rank_exponent) {
  std::vector<MeasuredTime> times;
  for (const int ranks : sizes) {
    for (const double work : {1e9, 1e10, 1e11}) {
      for (const double batch : {32.0, 128.0}) {
        for (int i = 0; i < 50; ++i) {
          times.push_back({work, batch, ranks,
                           2e-9 * std::pow(work, 0.8) * std::pow(batch, -0.1) *
                               std::pow(ranks, -rank_exponent)});
        }
      }
    }
  }
  return times;
}

TEST(GroupScaling, FollowsMeasuredSizes) {
  const GroupScaling scaling(times_of({1, 2, 4}, 0.7));
  EXPECT_NEAR(scaling.strong_efficiency(4), std::pow(4, -0.3), 0.01);
  EXPECT_NEAR(scaling.weak_efficiency(4), std::pow(4, -0.2), 0.02);
  EXPECT_NEAR(scaling.wall_s(1e10, 2) / scaling.wall_s(1e10, 1), std::pow(2, -0.7), 0.01);
  EXPECT_NEAR(scaling.wall_s(1e11, 1) / scaling.wall_s(1e10, 1), std::pow(10, 0.8), 0.05);
  EXPECT_EQ(scaling.sizes(), (std::set<int>{1, 2, 4}));
}

// One size says nothing of others: the efficiency is what groups usually reach.
TEST(GroupScaling, OfOneSizeIsThePriors) {
  const GroupScaling scaling(times_of({2}, 0.3));
  EXPECT_NEAR(scaling.strong_efficiency(4), std::pow(4, -0.1), 0.03);
}

TEST(GroupScaling, IsNeverBetterThanPerfect) {
  const GroupScaling scaling(times_of({1, 4}, 1.4));
  EXPECT_EQ(scaling.strong_efficiency(4), 1);
  EXPECT_EQ(scaling.weak_efficiency(4), 1);
}

}  // namespace
}  // namespace detol

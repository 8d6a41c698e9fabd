// What measured times say of groups of other sizes.

#include "surrogate/group_scaling.h"

#include <cmath>
#include <map>
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
  EXPECT_NEAR(scaling.strong_efficiency(4).mean, std::pow(4, -0.3), 0.01);
  EXPECT_NEAR(scaling.weak_efficiency(4).mean, std::pow(4, -0.2), 0.02);
  EXPECT_NEAR(scaling.wall_s(1e10, 2) / scaling.wall_s(1e10, 1), std::pow(2, -0.7), 0.01);
  EXPECT_NEAR(scaling.wall_s(1e11, 1) / scaling.wall_s(1e10, 1), std::pow(10, 0.8), 0.05);
  EXPECT_EQ(scaling.sizes(), (std::map<int, int>{{1, 300}, {2, 300}, {4, 300}}));
}

// One size says nothing of others: the efficiency is what groups usually reach.
TEST(GroupScaling, OfOneSizeIsThePriors) {
  const GroupScaling scaling(times_of({2}, 0.3));
  EXPECT_NEAR(scaling.strong_efficiency(4).mean, std::pow(4, -0.1), 0.03);
  EXPECT_FALSE(scaling.has_compared());
  EXPECT_TRUE(GroupScaling(times_of({1, 2}, 0.3)).has_compared());
}

// Two trials of one rank and two of eight, which crowd two cores: eight times the time. What groups
// usually reach must not be what is said.
TEST(GroupScaling, OfFewTimesFollowsWhatWasMeasured) {
  const std::vector<MeasuredTime> times = {
      {1e10, 64, 1, 1.2}, {1e10, 64, 1, 1.1}, {1e10, 64, 8, 10.5}, {1e10, 64, 8, 10.2}};
  const Efficiency of_eight = GroupScaling(times).strong_efficiency(8);
  EXPECT_LT(of_eight.mean, 0.05);
  EXPECT_LT(of_eight.low, 0.014);
  EXPECT_GT(of_eight.high, 0.014);
}

// The interval holds the mean and shrinks as the root of the number of times.
TEST(GroupScaling, SaysHowSureItIs) {
  const auto width = [](int times) {
    std::vector<MeasuredTime> all(static_cast<std::size_t>(times), {1e10, 64, 1, 1.0});
    all.resize(2 * all.size(), {1e10, 64, 4, 0.5});
    const Efficiency of_four = GroupScaling(all).strong_efficiency(4);
    EXPECT_LT(of_four.low, of_four.mean);
    EXPECT_LT(of_four.mean, of_four.high);
    return std::log(of_four.high / of_four.low);
  };
  EXPECT_NEAR(width(400) / width(100), 0.5, 0.02);
}

// Where every group had its batch grown, the times say what both do together, but not what each
// does.
TEST(GroupScaling, IsSurerOfAGrowingBatchWhereAllBatchesGrew) {
  std::vector<MeasuredTime> times(50, {1e10, 32, 1, 8.0});
  times.resize(100, {1e10, 128, 4, 2.5});
  const GroupScaling scaling(times);
  const auto width = [](const Efficiency& efficiency) {
    return std::log(efficiency.high / efficiency.low);
  };
  EXPECT_LT(width(scaling.weak_efficiency(4)), 0.8 * width(scaling.strong_efficiency(4)));
  EXPECT_NEAR(scaling.weak_efficiency(4).mean, 8.0 / 2.5 / 4, 0.05);
}

TEST(GroupScaling, IsNeverBetterThanPerfect) {
  const GroupScaling scaling(times_of({1, 4}, 1.4));
  EXPECT_EQ(scaling.strong_efficiency(4).mean, 1);
  EXPECT_EQ(scaling.weak_efficiency(4).mean, 1);
}

}  // namespace
}  // namespace detol

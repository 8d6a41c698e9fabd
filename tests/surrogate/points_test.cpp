#include "surrogate/points.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Points, GiveBackWhatWasPushed) {
  Points points(2, 1);
  points.push_back({.numbers = {0.1, 0.2}, .categories = {3}, .graph = nullptr});
  points.push_back({.numbers = {0.5, 0.6}, .categories = {-1}, .graph = nullptr});
  EXPECT_EQ(points[1].numbers, (std::vector<double>{0.5, 0.6}));
  EXPECT_EQ(points[0].categories, std::vector<int>{3});
  EXPECT_EQ(points.numbers(1)[1], 0.6);
}

TEST(Points, DropTheLast) {
  Points points(1, 0);
  for (double x : {0.1, 0.2, 0.3})
    points.push_back({.numbers = {x}, .categories = {}, .graph = {}});
  points.truncate(1);
  EXPECT_EQ(points.size(), 1u);
  EXPECT_EQ(points.numbers(0).size(), 1u);
}

}  // namespace
}  // namespace detol

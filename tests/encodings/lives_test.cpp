#include "encodings/lives.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Lives, TensorsCountFromTheirFirstUseToTheirLast) {
  Lives lives;
  const auto a = lives.make(1), b = lives.make(10), c = lives.make(100);
  lives.use({a, b});
  lives.next_step();
  lives.use(c);
  lives.next_step();
  lives.use(a);
  EXPECT_EQ(lives.peak(), 101);
}

TEST(Lives, ATensorThatNobodyUsesIsNone) {
  Lives lives;
  lives.make(7);
  EXPECT_EQ(lives.peak(), 0);
}

TEST(Lives, WhatIsOverwrittenCountsOnce) {
  Lives lives;
  const auto a = lives.make(10), b = lives.make_over(a), c = lives.make_over(b);
  lives.use(a);
  lives.next_step();
  lives.use({a, b});
  lives.next_step();
  lives.use({b, c});
  EXPECT_EQ(lives.peak(), 10);
}

TEST(Lives, WhatIsUsedLaterIsNotOverwritten) {
  Lives lives;
  const auto a = lives.make(10), b = lives.make_over(a);
  lives.use({a, b});
  lives.next_step();
  lives.use(a);
  EXPECT_EQ(lives.peak(), 20);
}

}  // namespace
}  // namespace detol

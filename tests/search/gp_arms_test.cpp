#include "search/gp_arms.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace detol {
namespace {

// Also the number of failures in a row that halve the region.
constexpr std::size_t kDimensions = 6;

// Arms whose best outcome so far is 1.
GpArms arms() {
  GpArms arms(kDimensions, 0.5);
  arms.tell("another", 1);
  return arms;
}

void fail(GpArms& arms, std::string_view arm, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) arms.tell(arm, 2);
}

TEST(GpArms, TheRegionIsHalvedAfterAsManyFailuresAsThereAreDimensions) {
  GpArms failing = arms();
  const double before = failing.side();
  fail(failing, kRegionArm, kDimensions - 1);
  EXPECT_EQ(failing.side(), before);
  fail(failing, kRegionArm, 1);
  EXPECT_EQ(failing.side(), before / 2);
  fail(failing, kRegionArm, kDimensions);
  EXPECT_EQ(failing.side(), before / 4);
}

TEST(GpArms, ASuccessLetsTheRegionCountItsFailuresAnew) {
  GpArms failing = arms();
  const double before = failing.side();
  fail(failing, kRegionArm, kDimensions - 1);
  failing.tell(kRegionArm, 0.5);
  fail(failing, kRegionArm, kDimensions - 1);
  EXPECT_EQ(failing.side(), before);
}

TEST(GpArms, FailuresOfOthersDoNotNarrowTheRegion) {
  GpArms failing = arms();
  const double before = failing.side();
  fail(failing, kGlobalArm, 10 * kDimensions);
  fail(failing, "another", 10 * kDimensions);
  EXPECT_EQ(failing.side(), before);
}

TEST(GpArms, TheRegionIsDoubledAfterThreeSuccessesInARow) {
  GpArms lucky = arms();
  const double before = lucky.side();
  for (double outcome : {0.9, 0.8}) lucky.tell(kRegionArm, outcome);
  EXPECT_EQ(lucky.side(), before);
  lucky.tell(kRegionArm, 0.7);
  EXPECT_EQ(lucky.side(), 2 * before);
}

TEST(GpArms, ARegionInWhichNothingIsLeftToFindBeginsAgain) {
  GpArms failing = arms();
  const double first = failing.side();
  double least = first;
  for (int halvings = 0; halvings < 20 && (halvings == 0 || failing.side() < first); ++halvings) {
    fail(failing, kRegionArm, kDimensions);
    least = std::min(least, failing.side());
  }
  EXPECT_EQ(failing.side(), first);
  EXPECT_LT(least, 0.05);
}

TEST(GpArms, TheArmThatImprovesGetsMoreTrialsAndTheOtherItsLeastShare) {
  GpArms lucky = arms();
  double outcome = 1;
  for (int i = 0; i < 40; ++i) {
    lucky.tell(kRegionArm, outcome *= 0.9);
    lucky.tell(kGlobalArm, 2);
  }
  EXPECT_DOUBLE_EQ(lucky.share_of_region(), 0.8);
  EXPECT_DOUBLE_EQ(arms().share_of_region(), 0.5);
}

}  // namespace
}  // namespace detol

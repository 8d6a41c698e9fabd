// Half: floating-point numbers of 16 bits.

#include "core/half.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

std::vector<Half> every_half() {
  std::vector<Half> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Half>(i);
  return all;
}

Half half_of(float value) {
  Half half{};
  to_halves({&value, 1}, 1, {&half, 1});
  return half;
}

float float_of(Half half) {
  float value = 0;
  from_halves({&half, 1}, 1, {&value, 1});
  return value;
}

TEST(Half, EveryOneComesBackFromSinglePrecision) {
  const std::vector<Half> all = every_half();
  std::vector<float> values(all.size());
  std::vector<Half> back(all.size());
  from_halves(all, 0.25F, values);
  to_halves(values, 4, back);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(values[i])) continue;
    ASSERT_EQ(back[i], all[i]) << i;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float here = float_of(Half{bits}), next = float_of(Half(bits + 1));
    const float middle = (here + next) / 2;
    ASSERT_EQ(half_of(middle), Half(bits + bits % 2)) << here;
    ASSERT_EQ(half_of(std::nextafter(middle, 0.0F)), Half{bits});
    ASSERT_EQ(half_of(std::nextafter(middle, 1e9F)), Half(bits + 1));
  }
}

TEST(Half, NothingFiniteOverflowsAndNothingElseIsHidden) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float_of(half_of(1e30F)), 65504);
  EXPECT_EQ(float_of(half_of(-65520)), -65504);
  EXPECT_EQ(float_of(half_of(-kInfinity)), -kInfinity);
  EXPECT_TRUE(std::isnan(float_of(half_of(std::nanf("")))));
}

TEST(Half, ASumIsAddedUpInSinglePrecisionAndRoundedOnce) {
  for (const std::size_t each : {1u, 7u, 8u, 21u}) {
    std::vector<Half> all;
    for (const float term : {2048.0F, 1.0F, 1.0F, -2048.0F})
      all.insert(all.end(), each, half_of(term));
    std::vector<Half> sum(each);
    add_halves(all, 4, sum);
    EXPECT_EQ(sum, std::vector<Half>(each, half_of(2)));
  }
}

}  // namespace
}  // namespace detol

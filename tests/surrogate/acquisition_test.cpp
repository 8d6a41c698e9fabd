#include "surrogate/acquisition.h"

#include <gtest/gtest.h>

#include <cmath>

namespace detol {
namespace {

TEST(ImprovementPerWork, IsTheQuotientWithExponentOne) {
  const Prediction log_work{.mean = std::log(4.0), .variance = 1};
  EXPECT_DOUBLE_EQ(log_improvement_per_work(std::log(2.0), log_work, 1), std::log(0.5));
}

TEST(ImprovementPerWork, ForgetsTheWorkWithExponentZero) {
  EXPECT_EQ(log_improvement_per_work(-3, {.mean = 7, .variance = 1}, 0), -3);
}

}  // namespace
}  // namespace detol

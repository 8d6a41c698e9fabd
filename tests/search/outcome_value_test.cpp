#include "search/outcome_value.h"

#include <cmath>

#include <gtest/gtest.h>

namespace detol {
namespace {

const std::vector<Objective> kObjectives = {minimize("a"), maximize("b"), maximize("c")};

TEST(OutcomeValue, LossesOfMaximizedObjectivesAreNegated) {
  EXPECT_EQ(losses_of(Measured{.values = {1, 2, 3}}, kObjectives), (Losses{1, -2, -3}));
  EXPECT_EQ(first_value(Measured{.values = {1, 2, 3}}), 1);
}

TEST(OutcomeValue, AFailureOrMissingValuesHaveNoLosses) {
  EXPECT_TRUE(losses_of(Failed{.cause = Cause::kDiverged}, kObjectives).empty());
  EXPECT_TRUE(losses_of(Measured{.values = {1, std::nan(""), 3}}, kObjectives).empty());
  EXPECT_TRUE(losses_of(Measured{.values = {1, 2}}, kObjectives).empty());
  EXPECT_TRUE(std::isnan(first_value(Failed{.cause = Cause::kDiverged})));
  EXPECT_TRUE(std::isnan(first_value(Measured{})));
}

}  // namespace
}  // namespace detol

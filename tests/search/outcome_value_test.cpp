#include "search/outcome_value.h"

#include <cmath>

#include <gtest/gtest.h>

namespace detol {
namespace {

const std::vector<Objective> kObjectives = {minimize("a"), maximize("b"), maximize("c")};

RankedLoss loss(double value, std::vector<double> excesses = {}) {
  return ranked_loss(Measured{.values = {value}, .excesses = std::move(excesses)},
                     Direction::kMinimize);
}

RankedLosses losses(double first, double second, std::vector<double> excesses = {}) {
  return ranked_losses(Measured{.values = {first, second}, .excesses = std::move(excesses)},
                       std::vector{minimize("a"), minimize("b")});
}

TEST(OutcomeValue, LossesOfMaximizedObjectivesAreNegated) {
  EXPECT_EQ(losses_of(Measured{.values = {1, 2, 3}}, kObjectives), (Losses{1, -2, -3}));
  EXPECT_EQ(loss(2).loss, 2);
  EXPECT_EQ(ranked_loss(Measured{.values = {2}}, Direction::kMaximize).loss, -2);
}

TEST(OutcomeValue, AFailureOrMissingValuesHaveNoLosses) {
  EXPECT_TRUE(losses_of(Failed{.cause = Cause::kDiverged}, kObjectives).empty());
  EXPECT_TRUE(losses_of(Measured{.values = {1, std::nan(""), 3}}, kObjectives).empty());
  EXPECT_TRUE(losses_of(Measured{.values = {1, 2}}, kObjectives).empty());
  const RankedLoss nothing = ranked_loss(Failed{}, Direction::kMinimize);
  EXPECT_FALSE(nothing.is_measured());
  EXPECT_FALSE(loss(std::nan("")).is_measured());
  EXPECT_TRUE(loss(INFINITY).is_measured());
  EXPECT_LT(loss(INFINITY, {1e300}), nothing);
}

TEST(OutcomeValue, ConstraintsComeFirstThenTheirTotalViolationThenTheLoss) {
  EXPECT_LT(loss(1), loss(2));
  EXPECT_LT(loss(9, {-0.1, 0}), loss(1, {-5, 0.01}));  // slack makes up for no violation
  EXPECT_LT(loss(9, {0.2, 0.2}), loss(1, {0, 0.5}));
  EXPECT_LT(loss(1, {0.5, 0}), loss(9, {0, 0.5}));
}

TEST(OutcomeValue, OfSeveralObjectivesConstraintsComeFirstToo) {
  EXPECT_TRUE(dominates(losses(1, 1), losses(1, 2)));
  EXPECT_FALSE(dominates(losses(1, 2), losses(2, 1)));
  EXPECT_TRUE(dominates(losses(9, 9, {-1}), losses(1, 1, {0.1})));
  EXPECT_TRUE(dominates(losses(9, 9, {0.1}), losses(1, 1, {0.2})));
  EXPECT_FALSE(dominates(losses(1, 1, {0.2}), losses(9, 9, {0.1})));
  EXPECT_TRUE(dominates(losses(1, 1, {0.1}), losses(2, 1, {0.1})));
}

}  // namespace
}  // namespace detol

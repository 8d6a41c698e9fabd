// How long the next epoch of a trial is foreseen to take.

#include "scheduler/epoch_forecast.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(EpochForecast, IsUnknownBeforeTheFirstReport) {
  EXPECT_EQ(EpochForecast().device_s(0, 10), std::nullopt);
}

TEST(EpochForecast, IsATrialsOwnLastEpoch) {
  EpochForecast forecast;
  forecast.learn(0, 10, 5);
  forecast.learn(1, 10, 50);
  forecast.learn(0, 10, 7);
  EXPECT_EQ(forecast.device_s(0, 10), 7);
}

// Small networks are slower for their work.
TEST(EpochForecast, OfANewTrialFollowsThoseOfLikeWork) {
  EpochForecast forecast;
  for (TrialId trial = 0; trial < 10; ++trial) {
    forecast.learn(trial, 1e9, 10);
    forecast.learn(100 + trial, 1e12, 1000);
  }
  EXPECT_DOUBLE_EQ(*forecast.device_s(50, 2e9), 20);
  EXPECT_DOUBLE_EQ(*forecast.device_s(50, 5e11), 500);
}

TEST(EpochForecast, OneVerySlowTrialDoesNotMoveIt) {
  EpochForecast forecast;
  for (TrialId trial = 0; trial < 4; ++trial) forecast.learn(trial, 1e9, 10);
  forecast.learn(4, 1e9, 1e6);
  EXPECT_DOUBLE_EQ(*forecast.device_s(50, 1e9), 10);
}

TEST(EpochForecast, OneVeryFastTrialDoesNotMoveIt) {
  EpochForecast forecast;
  for (TrialId trial = 0; trial < 4; ++trial) forecast.learn(trial, 1e9, 10);
  forecast.learn(4, 1e9, 1e-6);
  EXPECT_DOUBLE_EQ(*forecast.device_s(50, 1e9), 10);
}

TEST(EpochForecast, OfUnknownWorkIsTheSecondsOfOthers) {
  EpochForecast forecast;
  for (TrialId trial = 0; trial < 3; ++trial) forecast.learn(trial, 0, 3);
  EXPECT_EQ(forecast.device_s(9, 0), 3);
}

// One machine is three times as slow as the other.
TEST(EpochForecast, FollowsTheSpeedOfTheMachine) {
  EpochForecast forecast;
  for (TrialId trial = 0; trial < 60; ++trial) {
    forecast.learn(2 * trial, 1e9, 10, "fast/1");
    forecast.learn(2 * trial + 1, 1e9, 30, "slow/7");
  }
  EXPECT_NEAR(*forecast.device_s(1000, 1e9, "fast/2"), 10, 2);
  EXPECT_NEAR(*forecast.device_s(1000, 1e9, "slow/8"), 30, 6);
  EXPECT_NEAR(*forecast.device_s(118, 1e9, "slow/8"), 30, 6);  // that moves there
}

TEST(EpochForecast, OfOneMachineHasNoFactor) {
  EpochForecast forecast;
  for (TrialId trial = 0; trial < 9; ++trial) forecast.learn(trial, 1e9, 10 + 1.0 * trial, "a/1");
  EXPECT_EQ(forecast.device_s(8, 1e9, "a/2"), 18);
}

}  // namespace
}  // namespace detol

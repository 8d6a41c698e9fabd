#include "search/gp_outcomes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "search/gp_observed.h"

namespace detol {
namespace {

using Outcomes = std::vector<double>;  // a loss, then what two constraints are exceeded by

TEST(GpOutputs, AreTheObjectivesThenTheWorkThenTheConstraints) {
  const SearcherSettings settings{.objectives = {maximize("a")}, .options = {}, .constraints = 2};
  const Measured measured{.values = {3}, .work = std::exp(2.0), .excesses = {-0.5, 0.25}};
  EXPECT_EQ(GpOutputs(settings, GpAcquisition::kImprovement).of(measured),
            (Outcomes{-3, -0.5, 0.25}));
  EXPECT_EQ(GpOutputs(settings, GpAcquisition::kPerWork).of(measured),
            (Outcomes{-3, 2, -0.5, 0.25}));
  EXPECT_TRUE(GpOutputs(settings, GpAcquisition::kImprovement).of(Failed{}).empty());
}

TEST(ArmLosses, AreTheViolationUntilATrialKeepsTheConstraints) {
  ArmLosses losses(2);
  EXPECT_FALSE(losses.see(Outcomes{5, 1, -2}));
  EXPECT_EQ(losses(Outcomes{5, 1, -2}), 1);
  EXPECT_EQ(losses(Outcomes{7, 0.25, 0.5}), 0.75);
}

TEST(ArmLosses, PutWhatBreaksAConstraintAfterAllThatKeepThem) {
  ArmLosses losses(2);
  losses.see(Outcomes{-9, 1, 0});
  EXPECT_TRUE(losses.see(Outcomes{5, -1, 0}));   // the violations count from 5 on
  EXPECT_FALSE(losses.see(Outcomes{3, -1, 0}));  // and still do
  EXPECT_TRUE(losses.see(Outcomes{8, 0, 0}));
  EXPECT_EQ(losses(Outcomes{3, -1, 0}), 3);
  EXPECT_EQ(losses(Outcomes{-9, 1, 0}), 9);
}

TEST(ArmLosses, WithoutConstraintsAreTheLosses) {
  ArmLosses losses(0);
  for (double loss : {3.0, 5.0, 4.0}) {
    EXPECT_FALSE(losses.see(Outcomes{loss}));
    EXPECT_EQ(losses(Outcomes{loss}), loss);
  }
}

TEST(Observed, WhatAConstraintLeavesOverMakesUpForNothing) {
  const Observed observed{.points = Points(0, 0),
                          .outcomes = {{3, 1, 2}, {0.5, -0.1, 0.25}, {-4, 0, 0.5}},
                          .objectives = 1,
                          .bounds = {.constraints = 2}};
  EXPECT_EQ(observed.violation(0), 0.5);
  EXPECT_EQ(observed.violation(1), 0);
  EXPECT_EQ(observed.violation(2), 0.75);
}

// The earlier outcome stays a measurement of its own only where more epochs have followed it.
TEST(ToldTrial, WasResumedIfItIsMeasuredAgainAfterMoreEpochs) {
  const auto told = [](double fidelity, Outcomes outcomes) {
    return ToldTrial{.trial = {}, .fidelity = fidelity, .outcomes = std::move(outcomes)};
  };
  EXPECT_TRUE(was_resumed(told(3, {0.5}), told(9, {0.4})));
  EXPECT_FALSE(was_resumed(told(3, {0.5}), told(3, {0.4}))) << "a correction";
  EXPECT_FALSE(was_resumed(told(9, {0.5}), told(3, {0.4})));
  EXPECT_FALSE(was_resumed(told(0, {0.5}), told(3, {0.4}))) << "of unknown length";
  EXPECT_FALSE(was_resumed(told(3, {}), told(9, {0.4}))) << "it had failed";
  EXPECT_FALSE(was_resumed(told(3, {0.5}), told(9, {}))) << "it failed";
}

TEST(GpOutputs, ReferencesAreLosses) {
  SearcherSettings settings{.objectives = {maximize("a"), minimize("b"), minimize("c")},
                            .options = {}};
  settings.objectives[0].reference = 0.9;
  settings.objectives[1].reference = 5;
  EXPECT_EQ(GpOutputs(settings, GpAcquisition::kImprovement).bounds().references,
            (std::vector<std::optional<double>>{-0.9, 5, std::nullopt}));
}

}  // namespace
}  // namespace detol

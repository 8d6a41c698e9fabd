#include "search/gp_criterion.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "search/gp_refit.h"

namespace detol {
namespace {

Space line() {
  return SpaceBuilder().add_float("x", 0, 1).build().value();
}

void refit(GpModel& model) {
  SteppedRefit stepped({.model = "gp",
                        .features = model.features(),
                        .observed = model.observed(),
                        .before = model.fits(),
                        .candidates = model.candidates(),
                        .rng = Rng(1)});
  while (!stepped.advance(1e9)) {
  }
  auto [fit, processes] = stepped.take();
  model.use(std::move(fit), std::move(processes));
}

// A model of one objective and the logarithm of the work.
GpModel model_of_work() {
  const auto features = std::make_shared<const Features>(line());
  GpModel model(features, 2, 1, features->empty_points());
  Rng rng(5);
  for (int i = 0; i < 8; ++i)
    model.append(features->of(line().sample(rng)), std::vector{rng.normal(), rng.uniform()});
  model.use({.outputs = model.fits(), .observations = 8, .members = {0, 1, 2, 3, 4, 5, 6, 7}});
  model.fantasize({});
  return model;
}

using At = std::vector<Prediction>;

void expect_derivatives_of_finite_differences(const GpCriterion& criterion, const At& at) {
  const GpCriterion::Value value = criterion(at);
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (double Prediction::*part : {&Prediction::mean, &Prediction::variance}) {
      At up = at, down = at;
      up[i].*part += 1e-5;
      down[i].*part -= 1e-5;
      const auto& slopes = part == &Prediction::mean ? value.by_mean : value.by_variance;
      EXPECT_NEAR(slopes[i], (criterion(up).value - criterion(down).value) / 2e-5, 1e-5);
    }
  }
}

TEST(GpCriterion, TwiceTheWorkIsWorthTheLogarithmOfTwoLess) {
  const GpModel model = model_of_work();
  const GpCriterion criterion(model, GpAcquisition::kPerWork);
  const Prediction loss{.mean = 0.1, .variance = 0.5};
  const double cheap = criterion(At{loss, {.mean = 3, .variance = 0.1}}).value;
  const double expensive = criterion(At{loss, {.mean = 3 + std::log(2.0), .variance = 0.1}}).value;
  EXPECT_NEAR(cheap - expensive, std::log(2.0), 1e-12);
}

class EveryCriterion : public testing::TestWithParam<GpAcquisition> {};

TEST_P(EveryCriterion, HasTheDerivativesOfFiniteDifferences) {
  const GpModel model = model_of_work();
  const GpCriterion criterion(model, GetParam());
  const At at = {{.mean = 0.1, .variance = 0.5}, {.mean = 3, .variance = 0.1}};
  expect_derivatives_of_finite_differences(criterion, at);
}

INSTANTIATE_TEST_SUITE_P(All, EveryCriterion,
                         testing::Values(GpAcquisition::kImprovement, GpAcquisition::kPerWork,
                                         GpAcquisition::kBound));

// A model of `objectives` objectives and two constraints; the observations exceed the first by
// normal draws plus `excess`.
GpModel constrained_model(std::size_t objectives, double excess) {
  const auto features = std::make_shared<const Features>(line());
  GpModel model(features, objectives + 2, objectives, features->empty_points(), nullptr,
                {.constraints = 2});
  Rng rng(5);
  for (int i = 0; i < 8; ++i) {
    std::vector<double> outcomes;
    for (std::size_t j = 0; j < objectives; ++j) outcomes.push_back(rng.normal());
    outcomes.push_back(rng.normal() + excess);
    outcomes.push_back(-1);
    model.append(features->of(line().sample(rng)), outcomes);
  }
  refit(model);
  model.fantasize({});
  return model;
}

class ConstrainedCriterion : public testing::TestWithParam<GpAcquisition> {};

TEST_P(ConstrainedCriterion, HasTheDerivativesOfFiniteDifferences) {
  for (const std::size_t objectives : {1u, 2u}) {
    for (const double excess : {0.0, 10.0}) {
      const GpModel model = constrained_model(objectives, excess);
      const GpCriterion criterion(model, GetParam());
      At at(objectives + 2, {.mean = 0.1, .variance = 0.5});
      at[objectives].mean = -0.4;
      expect_derivatives_of_finite_differences(criterion, at);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConstrainedCriterion,
                         testing::Values(GpAcquisition::kImprovement, GpAcquisition::kBound));

TEST(GpCriterion, WithConstraintsIsLessByTheLogarithmOfTheirProbability) {
  const GpModel model = constrained_model(1, 0);
  const GpCriterion criterion(model, GpAcquisition::kImprovement);
  const Prediction loss{.mean = 0.1, .variance = 0.5}, kept{.mean = -50, .variance = 1};
  const Prediction even{.mean = model.bound(1), .variance = 1};
  EXPECT_NEAR(criterion(At{loss, kept, kept}).value - criterion(At{loss, even, kept}).value,
              std::log(2.0), 1e-6);
  EXPECT_NEAR(criterion.feasibility(At{loss, even, kept}).value(), 0.5, 1e-9);
}

TEST(GpCriterion, ImprovesOnTheBestThatKeepsTheConstraints) {
  const GpModel model = constrained_model(1, 0);
  double kept = INFINITY;
  const std::vector<double> smoothed = model.output(0).smoothed();
  for (std::size_t i = 0; i < smoothed.size(); ++i) {
    if (model.observed().outcomes[1][i] <= 0) kept = std::min(kept, smoothed[i]);
  }
  ASSERT_GT(kept, std::ranges::min(smoothed));  // the best of all breaks one
  EXPECT_EQ(model.least_smoothed(0), kept);
}

TEST(GpCriterion, IsTheProbabilityAloneWhileNothingKeepsTheConstraints) {
  for (const std::size_t objectives : {1u, 2u}) {
    const GpModel model = constrained_model(objectives, 10);
    EXPECT_FALSE(model.least_smoothed(0));
    const GpCriterion criterion(model, GpAcquisition::kImprovement);
    At at(objectives + 2, {.mean = 0.1, .variance = 0.5});
    EXPECT_NEAR(std::exp(criterion(at).value), criterion.feasibility(at).value(), 1e-12);
  }
}

TEST(GpCriterion, CountsNothingBeyondTheReferences) {
  const auto features = std::make_shared<const Features>(line());
  const auto model_with = [&](std::vector<std::optional<double>> references) {
    GpModel model(features, 2, 2, features->empty_points(), nullptr,
                  {.references = std::move(references)});
    Rng rng(5);
    for (int i = 0; i < 8; ++i)
      model.append(features->of(line().sample(rng)), std::vector{rng.normal(), rng.normal()});
    refit(model);
    model.fantasize({});
    return model;
  };
  const GpModel free = model_with({}), bounded = model_with({-0.5, std::nullopt});
  const double edge = bounded.fits()[0].transform(-0.5);
  const At beyond = {{.mean = edge + 1, .variance = 1e-6}, {.mean = -4, .variance = 1e-6}};
  const At inside = {{.mean = edge - 1, .variance = 1e-6}, {.mean = -4, .variance = 1e-6}};
  const GpCriterion anywhere(free, GpAcquisition::kImprovement);
  const GpCriterion below(bounded, GpAcquisition::kImprovement);
  EXPECT_GT(anywhere(beyond).value, -10);
  EXPECT_LT(below(beyond).value, -1000);
  EXPECT_GT(below(inside).value, -10);
}

TEST(ObjectivesToImprove, AreAllUpToFiveAndThreeOfMoreInTurn) {
  EXPECT_EQ(objectives_to_improve(2, Rng(1)), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(objectives_to_improve(5, Rng(1)), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  std::vector<int> turns(10);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::vector<std::size_t> drawn = objectives_to_improve(10, Rng(1).split(i));
    EXPECT_EQ(drawn, objectives_to_improve(10, Rng(1).split(i)));
    ASSERT_EQ(drawn.size(), 3u);
    EXPECT_TRUE(drawn[0] < drawn[1] && drawn[1] < drawn[2]);
    for (const std::size_t objective : drawn) ++turns[objective];
  }
  for (const int count : turns) EXPECT_NEAR(count, 60, 25);
}

// Observations of seven objectives, all of them on the front.
TEST(GpCriterion, OfSomeObjectivesImprovesTheirFrontAlone) {
  const auto features = std::make_shared<const Features>(line());
  GpModel model(features, 7, 7, features->empty_points());
  Rng rng(5);
  for (int i = 0; i < 8; ++i) {
    std::vector<double> outcomes;
    for (int j = 0; j < 7; ++j) outcomes.push_back(rng.normal());
    model.append(features->of(line().sample(rng)), outcomes);
  }
  refit(model);
  model.fantasize({});
  const GpCriterion some(model, GpAcquisition::kImprovement, std::nullopt, {1, 4, 6});
  At at(7, {.mean = 0.1, .variance = 0.5});
  expect_derivatives_of_finite_differences(some, at);
  const GpCriterion::Value value = some(at);
  for (const std::size_t i : {0u, 2u, 3u, 5u}) EXPECT_EQ(value.by_mean[i], 0);
  for (const std::size_t i : {1u, 4u, 6u}) EXPECT_LT(value.by_mean[i], 0);
  at[0].mean = -100;
  EXPECT_EQ(some(at).value, value.value);
}

}  // namespace
}  // namespace detol

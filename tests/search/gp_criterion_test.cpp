#include "search/gp_criterion.h"

#include <cmath>

#include <gtest/gtest.h>

namespace detol {
namespace {

Space line() {
  return SpaceBuilder().add_float("x", 0, 1).build().value();
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

INSTANTIATE_TEST_SUITE_P(All, EveryCriterion,
                         testing::Values(GpAcquisition::kImprovement, GpAcquisition::kPerWork,
                                         GpAcquisition::kBound));

}  // namespace
}  // namespace detol

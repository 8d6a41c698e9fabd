// Compares the reference backend in double precision with central differences.
//
// With h = 1e-6 a difference is good to about 1e-9; the seeds are fixed, so that no activation
// lies within h of a kink of ReLU or of a tie of max pooling.

#include <cmath>

#include <gtest/gtest.h>

#include "tests/trainer/samples.h"
#include "trainer/backends/reference/reference.h"

namespace detol {
namespace {

constexpr double kStep = 1e-6;

// Compares every element of every trainable tensor.
void expect_gradients_match_differences(const Network& network, const Recipe& recipe) {
  const auto reference = make_reference<double>(network, recipe);
  reference->set_state({lived_in_weights(network, 3), {}});
  fill_batch(*reference, network.output().shape.channels, 5);
  const StepSettings settings{.lr = 0.1, .step = 2, .seed = 9};
  reference->differentiate(settings);
  const auto gradients = reference->gradients();
  const std::vector<NetworkParameter> specs = network.parameters();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].spec.trainable) continue;
    for (std::size_t k = 0; k < gradients[i].size(); ++k) {
      double& weight = reference->parameters()[i][k];
      const double centre = weight;
      weight = centre + kStep;
      const double above = reference->differentiate(settings).loss;
      weight = centre - kStep;
      const double below = reference->differentiate(settings).loss;
      weight = centre;
      const double difference = (above - below) / (2 * kStep);
      ASSERT_NEAR(gradients[i][k], difference, 1e-7 + 1e-6 * std::abs(difference))
          << specs[i].name << "[" << k << "]";
    }
  }
}

class GradientOfLayer : public testing::TestWithParam<LayerCase> {};

TEST_P(GradientOfLayer, MatchesFiniteDifferences) {
  Recipe recipe;
  recipe.batch_size = 2;
  expect_gradients_match_differences(sandwich(GetParam()), recipe);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, GradientOfLayer, testing::ValuesIn(layer_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(Gradient, OfACompositeNetworkMatchesFiniteDifferences) {
  Recipe recipe;
  recipe.batch_size = 3;
  expect_gradients_match_differences(composite(4), recipe);
}

TEST(Gradient, UnderLabelSmoothingMatchesFiniteDifferences) {
  Recipe recipe;
  recipe.batch_size = 3;
  recipe.label_smoothing = 0.1;
  const LayerCase sample{"", {2, 3, 3}, {.kind = LayerKind::kActivation}};
  expect_gradients_match_differences(sandwich(sample), recipe);
}

}  // namespace
}  // namespace detol

// The reference backend against numbers worked out by hand, with PyTorch's definitions.

#include "trainer/backends/reference/reference.h"

#include <array>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/trainer/samples.h"

namespace detol {
namespace {

// One weight w and one input x = 2: logits (w x, 0), label 0. The gradient of the loss by w is
// x (softmax - 1) = -2 / (1 + e^{2 w}).
Network single_weight() {
  NetworkBuilder b({1, 1, 1});
  return b.build(b.add({.kind = LayerKind::kDense, .channels = 2}, {b.input()})).value();
}

struct Steps {
  std::unique_ptr<Reference<double>> run;
  double weight() const { return run->parameters()[0][0]; }
  void step(double lr, std::int64_t n) { run->train_step({.lr = lr, .step = n}); }
};

Steps steps_of(const Recipe& base, double weight) {
  Recipe recipe = base;
  recipe.batch_size = 1;
  Steps steps{make_reference<double>(single_weight(), recipe)};
  steps.run->images()[0] = 2;
  steps.run->labels()[0] = 0;
  steps.run->parameters()[0] = {weight, 0.0};
  return steps;
}

// Both weights move; by symmetry of softmax the second's gradient is the first's negative.
double gradient(double first, double second) {
  return -2 / (1 + std::exp(2 * (first - second)));
}

TEST(Sgd, FollowsMomentumNesterovAndDecayInTheGradient) {
  const double lr = 0.1, mu = 0.9, decay = 0.01;
  Recipe recipe;
  recipe.momentum = mu;
  recipe.weight_decay = decay;
  Steps steps = steps_of(recipe, 0.5);
  double w = 0.5, other = 0, v = 0, v_other = 0;
  for (std::int64_t n = 0; n < 3; ++n) {
    const double g = gradient(w, other) + decay * w;
    const double g_other = -gradient(w, other) + decay * other;
    v = mu * v + g;
    v_other = mu * v_other + g_other;
    w -= lr * (g + mu * v);
    other -= lr * (g_other + mu * v_other);
    steps.step(lr, n);
    EXPECT_NEAR(steps.weight(), w, 1e-14) << "step " << n;
  }
}

TEST(Sgd, WithoutNesterovMovesByTheVelocity) {
  Recipe recipe;
  recipe.nesterov = false;
  Steps steps = steps_of(recipe, 0.0);
  steps.step(0.1, 0);  // gradient -1, velocity -1
  EXPECT_NEAR(steps.weight(), 0.1, 1e-14);
  const double velocity = -0.9 + gradient(0.1, -0.1);
  steps.step(0.1, 1);
  EXPECT_NEAR(steps.weight(), 0.1 - 0.1 * velocity, 1e-14);
}

TEST(AdamW, CorrectsItsBiasAndDecaysApartFromTheGradient) {
  Recipe recipe;
  recipe.optimizer = "adamw";
  recipe.weight_decay = 0.1;
  const double lr = 0.01;
  Steps steps = steps_of(recipe, 0.5);
  double w = 0.5, other = 0, m = 0, s = 0;
  for (std::int64_t n = 0; n < 3; ++n) {
    const double g = gradient(w, other);
    m = 0.9 * m + 0.1 * g;
    s = 0.999 * s + 0.001 * g * g;
    const double t = static_cast<double>(n + 1);
    const double move =
        lr * (m / (1 - std::pow(0.9, t))) / (std::sqrt(s / (1 - std::pow(0.999, t))) + 1e-8);
    w = w * (1 - lr * 0.1) - move;
    other = other * (1 - lr * 0.1) + move;
    steps.step(lr, n);
    EXPECT_NEAR(steps.weight(), w, 1e-13) << "step " << n;
  }
}

// torch.optim.Adam: the decay is part of the gradient, and of both moments.
TEST(Adam, CorrectsItsBiasAndDecaysInTheGradient) {
  Recipe recipe;
  recipe.optimizer = "adam";
  recipe.weight_decay = 0.1;
  const double lr = 0.01;
  Steps steps = steps_of(recipe, 0.5);
  std::array<double, 2> w = {0.5, 0}, m = {}, s = {};
  for (std::int64_t n = 0; n < 3; ++n) {
    const double t = static_cast<double>(n + 1), of_loss = gradient(w[0], w[1]);
    for (std::size_t i = 0; i < 2; ++i) {
      const double g = (i == 0 ? of_loss : -of_loss) + 0.1 * w[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      s[i] = 0.999 * s[i] + 0.001 * g * g;
      w[i] -= lr * (m[i] / (1 - std::pow(0.9, t))) /
              (std::sqrt(s[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    steps.step(lr, n);
    EXPECT_NEAR(steps.weight(), w[0], 1e-13) << "step " << n;
  }
}

TEST(RmsProp, DividesByTheRootOfTheAveragedSquareAndKeepsMomentum) {
  Recipe recipe;
  recipe.optimizer = "rmsprop";
  recipe.beta2 = 0.9;
  recipe.epsilon = 0.01;
  recipe.weight_decay = 0.1;
  const double lr = 0.02;
  Steps steps = steps_of(recipe, 0.5);
  double w = 0.5, other = 0, square = 0, other_square = 0, v = 0, other_v = 0;
  for (std::int64_t n = 0; n < 3; ++n) {
    const double g = gradient(w, other) + 0.1 * w;
    const double other_g = -gradient(w, other) + 0.1 * other;
    square = 0.9 * square + 0.1 * g * g;
    other_square = 0.9 * other_square + 0.1 * other_g * other_g;
    v = 0.9 * v + g / (std::sqrt(square) + 0.01);
    other_v = 0.9 * other_v + other_g / (std::sqrt(other_square) + 0.01);
    w -= lr * v;
    other -= lr * other_v;
    steps.step(lr, n);
    EXPECT_NEAR(steps.weight(), w, 1e-14) << "step " << n;
  }
}

// One tensor of the weights (w, other): its norms are over both.
TEST(Lars, MovesATensorByAShareOfItsLength) {
  Recipe recipe;
  recipe.optimizer = "lars";
  recipe.trust = 0.02;
  recipe.weight_decay = 0.1;
  const double lr = 3;
  Steps steps = steps_of(recipe, 0.5);
  double w = 0.5, other = 0, v = 0, other_v = 0;
  for (std::int64_t n = 0; n < 3; ++n) {
    const double g = gradient(w, other), length = std::hypot(w, other);
    const double rate = lr * 0.02 * length / (std::abs(g) * std::sqrt(2) + 0.1 * length);
    v = 0.9 * v + rate * (g + 0.1 * w);
    other_v = 0.9 * other_v + rate * (-g + 0.1 * other);
    w -= v;
    other -= other_v;
    steps.step(lr, n);
    EXPECT_NEAR(steps.weight(), w, 1e-14) << "step " << n;
  }
}

TEST(Lars, GivesATensorOfZerosThePlainRate) {
  Recipe recipe;
  recipe.optimizer = "lars";
  Steps steps = steps_of(recipe, 0.0);
  steps.step(0.1, 0);  // gradient -1
  EXPECT_NEAR(steps.weight(), 0.1, 1e-14);
}

TEST(Clipping, ScalesTheGradientDownToTheNormAndNeverUp) {
  Recipe recipe{.momentum = 0, .nesterov = false};
  recipe.clip_norm = 0.5;
  Steps steps = steps_of(recipe, 0.0);
  steps.step(1, 0);  // gradients -1 and 1: norm sqrt(2)
  EXPECT_NEAR(steps.weight(), 0.5 / (std::sqrt(2.0) + 1e-6), 1e-12);
  recipe.clip_norm = 2;
  Steps free = steps_of(recipe, 0.0);
  free.step(1, 0);
  EXPECT_NEAR(free.weight(), 1, 1e-14);
}

// The kept share is (1 + step) / (10 + step), at most the recipe's 0.2: 0.1, 2/11, 0.2.
TEST(Average, ForgetsItsBeginningAndIsWhatIsScored) {
  Recipe recipe;
  recipe.ema = 0.2;
  Steps steps = steps_of(recipe, 0.5);
  steps.run->set_state({steps.run->state().weights, {}});
  double average = 0.5;
  const double kept[] = {0.1, 2.0 / 11, 0.2};
  for (std::int64_t n = 0; n < 3; ++n) {
    steps.step(0.1, n);
    average = kept[n] * average + (1 - kept[n]) * steps.weight();
    EXPECT_NEAR(double{steps.run->state().average[0].data[0]}, average, 1e-7) << "step " << n;
  }
  const double live = steps.weight();
  steps.run->evaluate(1);
  EXPECT_NEAR(double{steps.run->logits()[0]}, 2 * average, 1e-6);
  EXPECT_EQ(steps.weight(), live);
}

TEST(Optimizer, DecaysWeightsAlone) {
  NetworkBuilder b({2, 3, 3});
  const NodeId norm = b.add({.kind = LayerKind::kBatchNorm}, {b.input()});
  const NodeId flat = b.add({.kind = LayerKind::kFlatten}, {norm});
  const Network network =
      b.build(b.add({.kind = LayerKind::kDense, .channels = 2, .bias = true}, {flat})).value();
  Recipe with, without;
  for (Recipe* recipe : {&with, &without}) recipe->batch_size = 2;
  with.weight_decay = 0.5;
  std::vector<std::vector<double>> after[2];
  for (int i = 0; i < 2; ++i) {
    const auto run = make_reference<double>(network, i == 0 ? with : without);
    run->set_state({lived_in_weights(network, 1), {}});
    fill_batch(*run, 2, 4);
    run->train_step({.lr = 0.1});
    after[i] = run->parameters();
  }
  const std::vector<NetworkParameter> specs = network.parameters();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(after[0][i] != after[1][i], specs[i].spec.decays) << specs[i].name;
  }
}

TEST(BatchNorm, MovesRunningStatisticsByATenthOfTheUnbiasedBatch) {
  NetworkBuilder b({1, 1, 2});
  const NodeId norm = b.add({.kind = LayerKind::kBatchNorm}, {b.input()});
  const Network network = b.build(b.add({.kind = LayerKind::kFlatten}, {norm})).value();
  Recipe recipe;
  recipe.batch_size = 2;
  const auto run = make_reference<double>(network, recipe);
  run->set_state({initial_weights(network, 0), {}});
  const std::vector<float> pixels = {1, 2, 3, 6};  // mean 3, unbiased variance 14 / 3
  std::copy(pixels.begin(), pixels.end(), run->images().begin());
  run->differentiate({});
  EXPECT_NEAR(run->parameters()[2][0], 0.3, 1e-15);
  EXPECT_NEAR(run->parameters()[3][0], 0.9 + 0.1 * 14 / 3, 1e-15);
  EXPECT_NEAR(run->logits()[0], -2 / std::sqrt(3.5 + 1e-5), 1e-6);
}

// Returns the logits of two images of 1, 2, 3, ... that pass through one layer and are flattened.
std::vector<float> logits_of(const Shape& input, const Layer& layer, std::size_t copies = 1) {
  NetworkBuilder b(input);
  const std::vector<NodeId> inputs(copies, b.input());
  const Network network =
      b.build(b.add({.kind = LayerKind::kFlatten}, {b.add(layer, inputs)})).value();
  const auto run = make_reference<double>(network, Recipe{.batch_size = 2});
  run->set_state({initial_weights(network, 0), {}});
  for (auto& parameter : run->parameters()) {
    for (std::size_t i = 0; i < parameter.size(); ++i) parameter[i] = static_cast<double>(i + 1);
  }
  std::iota(run->images().begin(), run->images().end(), 1.0f);
  run->differentiate({});
  return {run->logits().begin(), run->logits().end()};
}

TEST(LayerNorm, NormalisesTheChannelsOfEachPosition) {
  // At each position of an image {a, a + 2}: mean a + 1, variance 1; gamma and beta are 1, 2.
  const double one = 1 / std::sqrt(1 + 1e-5);
  const std::vector<float> logits = logits_of({2, 1, 2}, {.kind = LayerKind::kLayerNorm});
  const std::vector<double> expected = {1 - one, 1 - one, 2 + 2 * one, 2 + 2 * one};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(logits[i], expected[i % 4], 1e-6) << i;
}

TEST(Concat, PutsTheChannelsOfItsInputsOneAfterAnother) {
  EXPECT_EQ(logits_of({1, 1, 2}, {.kind = LayerKind::kConcat}, 2),
            (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(Pooling, OfEvenWindowsLeavesOutWhatNoWholeWindowReaches) {
  // 1 2 3   10 11 12
  // 4 5 6   13 14 15
  // 7 8 9   16 17 18
  Layer pool{.kind = LayerKind::kMaxPool, .kernel = 2, .stride = 2};
  EXPECT_EQ(logits_of({1, 3, 3}, pool), (std::vector<float>{5, 14}));
  pool.kind = LayerKind::kAvgPool;
  EXPECT_EQ(logits_of({1, 3, 3}, pool), (std::vector<float>{3, 12}));
}

TEST(Pooling, MaySlideAWindowOfOneRow) {
  const Layer pool{.kind = LayerKind::kAvgPool, .kernel = 3, .kernel_height = 1, .stride = 2};
  EXPECT_EQ(logits_of({1, 1, 5}, pool), (std::vector<float>{1.5, 3, 4.5, 6.5, 8, 9.5}));
}

TEST(Convolution, MaySlideAWindowOfOneRow) {
  // Weights 1, 2, 3 over 1 2 3 4 with a gap of one: 2 x_i + 1 x_(i-2) + 3 x_(i+2).
  const Layer conv{
      .kind = LayerKind::kConv, .channels = 1, .kernel = 3, .kernel_height = 1, .dilation = 2};
  EXPECT_EQ(logits_of({1, 1, 4}, conv), (std::vector<float>{11, 16, 7, 10, 31, 36, 19, 22}));
}

TEST(CrossEntropy, OfEqualLogitsIsTheLogarithmOfTheClasses) {
  NetworkBuilder b({3, 1, 1});
  const Network network =
      b.build(b.add({.kind = LayerKind::kDense, .channels = 5}, {b.input()})).value();
  for (double smoothing : {0.0, 0.2}) {
    Recipe recipe;
    recipe.batch_size = 4;
    recipe.label_smoothing = smoothing;
    const auto run = make_reference<double>(network, recipe);
    EXPECT_NEAR(run->differentiate({}).loss, std::log(5.0), 1e-15);
  }
}

}  // namespace
}  // namespace detol

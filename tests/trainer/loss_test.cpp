// Each loss against values worked out by hand, and its derivative against central differences.

#include "trainer/backends/loss.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

// OwnTargets owns the memory of BatchTargets, for `images` images with `outputs` outputs.
struct OwnTargets {
  OwnTargets(std::size_t images, std::size_t outputs)
      : labels(images), targets(images * outputs), mixes(images) {}
  BatchTargets view() { return {labels, targets, mixes}; }

  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  std::vector<MixedLabel> mixes;
};

BatchResult result_of(Loss& loss, const std::vector<double>& logits, const BatchTargets& targets,
                      std::int64_t batch, std::span<double> gradient = {}) {
  return loss(LossInput<double>{logits, targets, gradient, batch});
}

class EveryLoss : public testing::TestWithParam<std::string> {};

TEST_P(EveryLoss, HasTheDerivativeThatDifferencesSay) {
  constexpr std::size_t kImages = 4, kOutputs = 3;
  Rng rng(7);
  OwnTargets targets(kImages, kOutputs);
  for (std::size_t i = 0; i < kImages; ++i) {
    targets.labels[i] = static_cast<std::int32_t>(rng.below(kOutputs));
    targets.mixes[i] = {static_cast<std::int32_t>(rng.below(kOutputs)), i == 2 ? 0.3F : 0.0F};
  }
  for (float& target : targets.targets) target = static_cast<float>(rng.uniform());
  std::vector<double> logits(kImages * kOutputs), gradient(logits.size());
  for (double& logit : logits) logit = 2 * rng.normal();
  const bool may_smooth = GetParam().ends_with("cross_entropy");
  Loss loss(loss_called(GetParam()), kOutputs, may_smooth ? 0.1 : 0.0);
  result_of(loss, logits, targets.view(), 6, gradient);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    constexpr double kDifference = 1e-6;
    std::vector<double> above = logits, below = logits;
    above[i] += kDifference;
    below[i] -= kDifference;
    const double difference = (result_of(loss, above, targets.view(), 6).loss -
                               result_of(loss, below, targets.view(), 6).loss) /
                              (2 * kDifference);
    EXPECT_NEAR(gradient[i], difference, 1e-8) << i;
  }
}

TEST_P(EveryLoss, HidesNoNan) {
  OwnTargets targets(1, 2);
  targets.targets = {1, 0};
  Loss loss(loss_called(GetParam()), 2, 0);
  std::vector<double> gradient(2);
  const auto nan = std::nan("");
  EXPECT_TRUE(std::isnan(result_of(loss, {nan, 1}, targets.view(), 1, gradient).loss));
  EXPECT_TRUE(std::isnan(gradient[0]));
}

TEST_P(EveryLoss, IsFiniteForLargeOutputs) {
  OwnTargets targets(1, 2);
  Loss loss(loss_called(GetParam()), 2, 0);
  std::vector<double> gradient(2);
  EXPECT_TRUE(std::isfinite(result_of(loss, {1e4, -1e4}, targets.view(), 1, gradient).loss));
  EXPECT_TRUE(std::isfinite(gradient[0]) && std::isfinite(gradient[1]));
}

TEST_P(EveryLoss, OfTwoHalvesOfABatchAddsUp) {
  OwnTargets targets(2, 1), first(1, 1), second(1, 1);
  targets.targets = {1, 0};
  first.targets = {1};
  second.targets = {0};
  Loss loss(loss_called(GetParam()), 1, 0);
  EXPECT_DOUBLE_EQ(
      result_of(loss, {0.3, 0.7}, targets.view(), 2).loss,
      result_of(loss, {0.3}, first.view(), 2).loss + result_of(loss, {0.7}, second.view(), 2).loss);
}

INSTANTIATE_TEST_SUITE_P(All, EveryLoss,
                         testing::Values("cross_entropy", "binary_cross_entropy", "mse", "mae",
                                         "huber", "soft_cross_entropy"),
                         [](const auto& tested) { return tested.param; });

TEST(CrossEntropy, OfAMixedImageIsTheMixtureOfBothLabelsAsIsItsGradient) {
  OwnTargets one(1, 3), other(1, 3), mixed(1, 3);
  one.labels = {0};
  other.labels = {2};
  mixed.labels = {0};
  mixed.mixes = {{2, 0.25F}};
  Loss loss(LossKind::kCrossEntropy, 3, 0.1);
  const std::vector<double> logits = {0.5, -1, 2};
  std::vector<double> of_one(3), of_other(3), of_mixed(3);
  const double loss_of_one = result_of(loss, logits, one.view(), 1, of_one).loss;
  const double loss_of_other = result_of(loss, logits, other.view(), 1, of_other).loss;
  EXPECT_NEAR(result_of(loss, logits, mixed.view(), 1, of_mixed).loss,
              0.75 * loss_of_one + 0.25 * loss_of_other, 1e-15);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(of_mixed[k], 0.75 * of_one[k] + 0.25 * of_other[k], 1e-15);
}

TEST(SoftCrossEntropy, OfALabelsTargetsIsTheCrossEntropyOfTheLabelTimesItsWeight) {
  OwnTargets label(1, 3), soft(1, 3);
  label.labels = {2};
  soft.targets = {0, 0, 0.5F};
  Loss hard(LossKind::kCrossEntropy, 3, 0.1), weighted(LossKind::kSoftCrossEntropy, 3, 0.1);
  const std::vector<double> logits = {0.5, -1, 2};
  std::vector<double> of_hard(3), of_weighted(3);
  const BatchResult result = result_of(hard, logits, label.view(), 1, of_hard);
  const BatchResult half = result_of(weighted, logits, soft.view(), 1, of_weighted);
  EXPECT_NEAR(half.loss, 0.5 * result.loss, 1e-15);
  EXPECT_EQ(half.correct, 1);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(of_weighted[k], 0.5 * of_hard[k], 1e-15);
}

TEST(BinaryCrossEntropy, IsTheLogarithmOfTheSigmoid) {
  OwnTargets targets(1, 2);
  targets.targets = {1, 0};
  Loss loss(LossKind::kBinaryCrossEntropy, 2, 0);
  const BatchResult result = result_of(loss, {2, 1}, targets.view(), 1);
  EXPECT_NEAR(result.loss,
              -(std::log(1 / (1 + std::exp(-2.0))) + std::log(1 / (1 + std::exp(1.0)))) / 2, 1e-15);
  EXPECT_EQ(result.correct, 1);
}

TEST(BinaryCrossEntropy, SaysYesWhereASigmoidIsAboveOneHalf) {
  OwnTargets targets(1, 4);
  targets.targets = {1, 0, 1, 0};
  Loss loss(LossKind::kBinaryCrossEntropy, 4, 0);
  EXPECT_EQ(result_of(loss, {0.1, -0.1, 0.4, -0.4}, targets.view(), 1).correct, 4);
  EXPECT_EQ(result_of(loss, {-0.1, 0.1, -0.4, 0.4}, targets.view(), 1).correct, 0);
}

TEST(Distances, AreTheMeanOverTheOutputs) {
  OwnTargets targets(1, 2);
  targets.targets = {0, 0};
  const std::vector<double> off = {3, -0.5};
  const auto distance = [&](LossKind kind) {
    Loss loss(kind, 2, 0);
    return result_of(loss, off, targets.view(), 1).loss;
  };
  EXPECT_EQ(distance(LossKind::kMse), (9 + 0.25) / 2);
  EXPECT_EQ(distance(LossKind::kMae), (3 + 0.5) / 2);
  EXPECT_EQ(distance(LossKind::kHuber), (2.5 + 0.125) / 2);
}

}  // namespace
}  // namespace detol

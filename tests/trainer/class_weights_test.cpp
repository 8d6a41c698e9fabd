#include "trainer/data/class_weights.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/data/batches.h"

namespace detol {
namespace {

// 12 training images of one pixel: 9 of class 0, 3 of class 2, none of class 1, which is in the
// validation part.
Dataset twelve_images() {
  Dataset data;
  data.info = {.task = {.input = {1, 1, 1}, .classes = 3}, .training = 12, .validation = 3};
  data.images.assign(15, 7);
  data.labels = {0, 0, 2, 0, 0, 0, 2, 0, 0, 2, 0, 0, 1, 1, 1};
  data.mean = {0.5F};
  data.deviation = {0.5F};
  return data;
}

Recipe weighted(const char* by) {
  Recipe recipe{.batch_size = 12};
  recipe.class_weights = by;
  return recipe;
}

TEST(ClassWeights, AreInverseToTheClassesSharesOfTheTrainingImages) {
  const Dataset data = twelve_images();
  EXPECT_TRUE(class_weights_of(weighted("none"), data).empty());
  const auto balanced = class_weights_of(weighted("balanced"), data);
  ASSERT_EQ(balanced.size(), 3u);
  EXPECT_FLOAT_EQ(balanced[0], 12.0F / (2 * 9));
  EXPECT_FLOAT_EQ(balanced[2], 12.0F / (2 * 3));
  EXPECT_EQ(balanced[1], 0);
  const auto roots = class_weights_of(weighted("sqrt"), data);
  EXPECT_FLOAT_EQ(roots[2] / roots[0], std::sqrt(3.0F));
  for (const auto& weights : {balanced, roots})
    EXPECT_FLOAT_EQ(weights[0] * 9 + weights[2] * 3, 12);
}

// Returns the targets of the batch of all training images, and their labels.
struct WeightedBatch {
  std::vector<float> targets = std::vector<float>(36);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(12);
  std::vector<MixedLabel> mixes = std::vector<MixedLabel>(12);
};

WeightedBatch weighted_batch(const Dataset& data, const Recipe& recipe) {
  Batches batches(data, recipe, 3);
  batches.start_epoch(1);
  WeightedBatch batch;
  std::vector<float> images(12);
  batches.fill(0, {0, 12}, images, {batch.labels, batch.targets, batch.mixes});
  return batch;
}

TEST(ClassWeights, AreTheTargetsOfTheImagesClasses) {
  const Dataset data = twelve_images();
  const auto weights = class_weights_of(weighted("balanced"), data);
  const WeightedBatch batch = weighted_batch(data, weighted("balanced"));
  for (std::size_t i = 0; i < 12; ++i) {
    const auto label = static_cast<std::size_t>(batch.labels[i]);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_EQ(batch.targets[3 * i + k], k == label ? weights[k] : 0) << i;
  }
}

TEST(ClassWeights, OfAMixedImageAreThoseOfBoth) {
  const Dataset data = twelve_images();
  Recipe recipe = weighted("balanced");
  recipe.mixup = 1;
  const auto weights = class_weights_of(recipe, data);
  const WeightedBatch batch = weighted_batch(data, recipe);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto own = static_cast<std::size_t>(batch.labels[i]);
    const auto other = static_cast<std::size_t>(batch.mixes[i].label);
    std::vector<float> wanted(3);
    wanted[own] += (1 - batch.mixes[i].share) * weights[own];
    wanted[other] += batch.mixes[i].share * weights[other];
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(batch.targets[3 * i + k], wanted[k], 1e-6) << i;
  }
}

TEST(ClassWeights, WeighWhatATeacherSaysByTheLabel) {
  Dataset data = twelve_images();
  data.teacher.assign(36, 0.25F);
  const auto weights = class_weights_of(weighted("balanced"), data);
  const WeightedBatch batch = weighted_batch(data, weighted("balanced"));
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(batch.targets[3 * i + 1], 0.25F * weights[static_cast<std::size_t>(batch.labels[i])]);
}

TEST(ClassWeights, LeaveValidationAsItIs) {
  Dataset data = twelve_images();
  data.teacher.assign(36, 0.25F);
  std::vector<std::int32_t> label(1);
  std::vector<float> targets(3);
  data.write_targets(12, 0, {.labels = label, .targets = targets});
  EXPECT_EQ(targets, (std::vector<float>{0, 1, 0}));
}

}  // namespace
}  // namespace detol

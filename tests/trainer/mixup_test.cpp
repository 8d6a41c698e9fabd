#include "trainer/data/mixup.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/data/batches.h"

namespace detol {
namespace {

constexpr std::size_t kBatch = 8;

// 16 images of 2 x 3 x 3 noise; the label is the image's number, and so is its target.
Dataset sixteen_images(TaskKind kind) {
  Dataset data;
  data.info = {.task = {.input = {2, 3, 3}, .classes = 16, .kind = kind}, .training = 16};
  Rng rng(5);
  for (int i = 0; i < 16 * 18; ++i)
    data.images.push_back(static_cast<std::uint8_t>(rng.below(256)));
  for (int i = 0; i < 16; ++i) data.labels.push_back(i);
  data.mean = {0.5F, 0.25F};
  data.deviation = {0.5F, 0.125F};
  if (kind != TaskKind::kRegression) return data;
  data.info.task.classes = 1;
  data.targets.assign(data.labels.begin(), data.labels.end());
  data.labels.clear();
  data.target_mean = {8};
  data.target_deviation = {4};
  return data;
}

Recipe mixed(double alpha) {
  return {.batch_size = kBatch,
          .crop_padding = 1,
          .horizontal_flip = true,
          .cutout = 1,
          .mixup = alpha};
}

// Batch holds what Batches fills for one batch.
struct Batch {
  std::vector<float> images = std::vector<float>(kBatch * 18);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kBatch);
  std::vector<float> targets = std::vector<float>(kBatch);
  std::vector<MixedLabel> mixes = std::vector<MixedLabel>(kBatch, MixedLabel{7, 0.5F});
};

// Returns the second batch of the first epoch, filled `part` images at a time.
Batch batch_of(const Dataset& data, const Recipe& recipe, std::size_t part = kBatch) {
  Batches batches(data, recipe, 1);
  batches.start_epoch(1);
  Batch all;
  const bool has_labels = !data.labels.empty();
  for (std::size_t i = 0; i < kBatch; i += part) {
    const std::size_t count = std::min(part, kBatch - i);
    const BatchTargets targets{
        .labels = std::span(all.labels).subspan(i, count),
        .targets = std::span(all.targets).subspan(i, has_labels ? 0 : count),
        .mixes = std::span(all.mixes).subspan(i, count),
    };
    batches.fill(1, {static_cast<std::int64_t>(i), static_cast<std::int64_t>(count)},
                 std::span(all.images).subspan(i * 18, count * 18), targets);
  }
  return all;
}

std::size_t place_of(const Batch& batch, std::int32_t label) {
  return static_cast<std::size_t>(std::ranges::find(batch.labels, label) - batch.labels.begin());
}

TEST(Mixup, BlendsEachImageWithAnotherAsThatIsInItsOwnPlace) {
  const Dataset data = sixteen_images(TaskKind::kClassification);
  const Batch plain = batch_of(data, mixed(0)), found = batch_of(data, mixed(1));
  EXPECT_EQ(found.labels, plain.labels);
  for (std::size_t i = 0; i < kBatch; ++i) {
    const auto [label, share] = found.mixes[i];
    const std::size_t partner = place_of(plain, label);
    ASSERT_LT(partner, kBatch);
    for (std::size_t k = 0; k < 18; ++k) {
      EXPECT_NEAR(found.images[i * 18 + k],
                  (1 - share) * plain.images[i * 18 + k] + share * plain.images[partner * 18 + k],
                  1e-5);
    }
  }
}

TEST(Mixup, BlendsTargetsAsItBlendsImages) {
  const Dataset classes = sixteen_images(TaskKind::kClassification);
  const Dataset numbers = sixteen_images(TaskKind::kRegression);
  const Batch by_label = batch_of(classes, mixed(1)), found = batch_of(numbers, mixed(1));
  EXPECT_EQ(found.images, by_label.images);
  for (std::size_t i = 0; i < kBatch; ++i) {
    const auto [label, share] = by_label.mixes[i];
    const float number =
        (1 - share) * static_cast<float>(by_label.labels[i]) + share * static_cast<float>(label);
    EXPECT_NEAR(found.targets[i], (number - 8) / 4, 1e-5);
  }
}

TEST(Mixup, IsTheSameWhateverThePartsOfABatch) {
  for (const TaskKind kind : {TaskKind::kClassification, TaskKind::kRegression}) {
    const Dataset data = sixteen_images(kind);
    const Batch whole = batch_of(data, mixed(0.4));
    for (const std::size_t part : {1u, 3u, 5u}) {
      const Batch parts = batch_of(data, mixed(0.4), part);
      EXPECT_EQ(parts.images, whole.images) << part;
      EXPECT_EQ(parts.targets, whole.targets) << part;
      EXPECT_EQ(parts.mixes, whole.mixes) << part;
    }
  }
}

TEST(Mixup, WhereItIsOffNoMixtureIsTouched) {
  const Batch found = batch_of(sixteen_images(TaskKind::kClassification), mixed(0));
  EXPECT_EQ(found.mixes, Batch().mixes);
}

// Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)).
TEST(Mixup, SharesHaveTheMomentsOfTheBetaDistribution) {
  constexpr int kDraws = 20000;
  for (const double alpha : {1e-9, 0.1, 0.4, 1.0, 8.0}) {
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const double share = draw_mix(Rng(3).split(i), alpha, 64).share;
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares / kDraws * 4 * (2 * alpha + 1), 1, 0.04) << alpha;
  }
}

TEST(Mixup, APartnerIsAnyPlaceOfTheBatch) {
  std::vector<int> times(5);
  for (std::uint64_t i = 0; i < 1000; ++i)
    ++times[static_cast<std::size_t>(draw_mix(Rng(3).split(i), 1, 5).partner)];
  for (const int count : times) EXPECT_NEAR(count, 200, 60);
}

}  // namespace
}  // namespace detol

// Meta-features say what they are said to, on data of which it is known.

#include "trainer/data/meta_features.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/packed.h"

namespace detol {
namespace {

// Returns a sample of a table: normal numbers, or, in `of` dimensions, random sums of as many.
DataSample normal_sample(std::size_t rows, std::size_t columns, std::size_t of) {
  Rng rng(1);
  DataSample sample{.rows = rows, .columns = columns, .has_bytes = false};
  std::vector<double> mixture(columns * of);
  for (double& weight : mixture) weight = rng.normal();
  for (std::size_t column = 0; column < columns; ++column) sample.channels.push_back(column);
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<double> inner(of);
    for (double& value : inner) value = rng.normal();
    for (std::size_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < of; ++i) sum += mixture[column * of + i] * inner[i];
      sample.values.push_back(static_cast<float>(sum));
    }
  }
  return sample;
}

// Labels the rows by the sign of their first value.
void label_by_sign(DataSample& sample) {
  sample.in_class = {0, 0};
  for (std::size_t row = 0; row < sample.rows; ++row) {
    sample.labels.push_back(sample.values[row * sample.columns] > 0 ? 1 : 0);
    ++sample.in_class[static_cast<std::size_t>(sample.labels.back())];
  }
}

TEST(MetaFeatures, FindTheDimensionInWhichTheDataVary) {
  for (const std::size_t dimension : {2U, 5U}) {
    const auto found = meta_features(normal_sample(1000, 20, dimension)).intrinsic_dimension;
    ASSERT_TRUE(found);
    EXPECT_NEAR(*found, static_cast<double>(dimension), 0.15 * static_cast<double>(dimension));
  }
}

TEST(MetaFeatures, ScoreClassesByHowEasilyTheyAreTold) {
  DataSample easy = normal_sample(900, 3, 3);
  label_by_sign(easy);
  const MetaFeatures found = meta_features(easy);
  EXPECT_GT(found.nearest_neighbour.value(), 0.9);
  EXPECT_GT(found.nearest_centroid.value(), 0.8);
  EXPECT_GT(found.ridge.value(), 0.9);
  DataSample noise = easy;
  Rng rng(2);
  rng.shuffle(std::span(noise.labels));
  EXPECT_LT(meta_features(noise).nearest_neighbour.value(), 0.6);
  EXPECT_LT(meta_features(noise).ridge.value(), 0.6);
}

TEST(MetaFeatures, ScoreTargetsByTheShareOfVarianceExplained) {
  DataSample sample = normal_sample(900, 10, 10);
  sample.outputs = 1;
  for (std::size_t row = 0; row < sample.rows; ++row)
    sample.targets.push_back(7 + 3 * sample.values[row * 10] - sample.values[row * 10 + 1]);
  const MetaFeatures found = meta_features(sample);
  EXPECT_GT(found.ridge.value(), 0.99);
  EXPECT_GT(found.ridge.value(), found.nearest_neighbour.value());
  EXPECT_FALSE(found.nearest_centroid);
  EXPECT_FALSE(found.entropy);
}

TEST(MetaFeatures, SeeLinesThroughARandomProjection) {
  DataSample wide = normal_sample(900, 300, 3);  // more columns than landmarks look at
  label_by_sign(wide);
  EXPECT_GT(meta_features(wide).nearest_neighbour.value(), 0.9);
}

TEST(MetaFeatures, DoNotDependOnTheUnitsOfAColumn) {
  DataSample metres = normal_sample(300, 4, 4);
  label_by_sign(metres);
  DataSample mixed = metres;
  for (std::size_t i = 0; i < mixed.values.size(); i += 4) mixed.values[i] *= 1024;
  const MetaFeatures a = meta_features(metres), b = meta_features(mixed);
  EXPECT_NEAR(a.intrinsic_dimension.value(), b.intrinsic_dimension.value(), 1e-3);
  EXPECT_EQ(a.nearest_neighbour, b.nearest_neighbour);
  EXPECT_NEAR(a.skew, b.skew, 1e-6);
}

TEST(MetaFeatures, DescribeValuesAndClasses) {
  DataSample sample{.rows = 4, .columns = 1};
  sample.values = {0, 0, 0, 1};
  sample.channels = {0};
  sample.labels = {0, 0, 0, 1};
  sample.in_class = {3, 1};
  const MetaFeatures found = meta_features(sample);
  EXPECT_EQ(found.mean, 0.25);
  EXPECT_EQ(found.zeros, 0.75);
  EXPECT_NEAR(found.deviation, std::sqrt(0.1875), 1e-12);
  EXPECT_NEAR(found.skew, 1.1547, 1e-4);
  EXPECT_EQ(found.largest_class, 0.75);
  EXPECT_NEAR(found.entropy.value(), 0.8113, 1e-4);
  EXPECT_FALSE(found.ridge);  // four rows tell nothing
}

// The second column is the first, mirrored.
TEST(MetaFeatures, SkewsOfOppositeSignsDoNotCancel) {
  DataSample sample{.rows = 4, .columns = 2};
  sample.values = {0, 1, 0, 1, 0, 1, 1, 0};
  sample.channels = {0, 1};
  EXPECT_NEAR(meta_features(sample).skew, 1.1547, 1e-4);
}

// Of n inputs of mean 0 and mean square 1 and a penalty of n / 100, the slope is 1 / 1.01 of the
// true one.
TEST(MetaFeatures, TheLinearModelIsPenalisedBesideTheRowsItLearnsFrom) {
  DataSample sample{.rows = 1800, .columns = 1, .has_bytes = false, .outputs = 1};
  sample.channels = {0};
  for (std::size_t row = 0; row < sample.rows; ++row) {
    sample.values.push_back(row % 2 == 0 ? 1.0F : -1.0F);
    sample.targets.push_back(3 * sample.values.back());
  }
  EXPECT_NEAR(1 - meta_features(sample).ridge.value(), std::pow(0.01 / 1.01, 2), 1e-6);
}

TEST(DataSample, IsTheSameOfEveryFormat) {
  const testing_support::TempFolder folder;
  testing_support::write_idx(folder.path() / "idx");
  const DataConfig idx{.format = "idx", .path = (folder.path() / "idx").string()};
  const DataConfig packed{.format = "packed", .path = (folder.path() / "d.detol").string()};
  ASSERT_TRUE(write_packed(load_dataset(idx).value(), 0.1, packed.path));
  const auto a = inspect_dataset(idx).value().sample, b = inspect_dataset(packed).value().sample;
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->rows, 360U);
  EXPECT_EQ(a->columns, 144U);
  EXPECT_EQ(a->values, b->values);
  EXPECT_EQ(a->labels, b->labels);
  EXPECT_EQ(a->in_class, b->in_class);
  EXPECT_EQ(a->has_bytes, b->has_bytes);
  EXPECT_GT(meta_features(*a).nearest_neighbour.value(), 0.9);  // each class is a block of its own
}

TEST(DataSample, HasAtMostTwoThousandRowsAndAThousandColumns) {
  const Shape shape{2, 40, 40};
  DataSampler sampler(shape, 3000, true);
  std::vector<std::byte> image(3200);
  for (std::int64_t i = 0; i < 3000; ++i) {
    sampler.add(i, image);
    sampler.add_label(i, static_cast<std::int32_t>(i % 2));
  }
  const auto sample = std::move(sampler).sample();
  EXPECT_EQ(sample->rows, 2000U);
  EXPECT_EQ(sample->columns, 1024U);
  EXPECT_EQ(sample->values.size(), 2000U * 1024U);
  EXPECT_EQ(sample->channels.front(), 0U);
  EXPECT_EQ(sample->channels.back(), 1U);
  EXPECT_EQ(sample->labels.size(), 2000U);
  EXPECT_EQ(sample->in_class, (std::vector<std::int64_t>{1500, 1500}));
}

}  // namespace
}  // namespace detol

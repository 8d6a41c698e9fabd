#include "trainer/data/dataset.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/data/samples.h"
#include "trainer/data/statistics.h"

namespace detol {
namespace {

TEST(Parts, HaveEveryImageOnceAndNoneInCommon) {
  const DatasetInfo info{.task = {}, .training = 5, .validation = 3, .test = 2};
  std::vector<DataSplit> split_of_image;
  for (const DataSplit split : {DataSplit::kTraining, DataSplit::kValidation, DataSplit::kTest}) {
    const Range range = range_of(info, split);
    EXPECT_EQ(range.first, std::ssize(split_of_image));
    split_of_image.insert(split_of_image.end(), static_cast<std::size_t>(range.count), split);
  }
  EXPECT_EQ(split_of_image.size(), 10u);
  EXPECT_EQ(split_of_image[4], DataSplit::kTraining);
  EXPECT_EQ(split_of_image[5], DataSplit::kValidation);
  EXPECT_EQ(split_of_image[8], DataSplit::kTest);
}

// The squares of 65,536 bytes are the most that 32 bits hold.
TEST(ByteSums, AreExactForLargeImages) {
  ByteSums sums({1, 600, 500});
  std::vector<std::uint8_t> image(300'000);
  std::fill_n(image.begin(), 150'000, std::uint8_t{255});
  sums.add(image);
  EXPECT_FLOAT_EQ(sums.mean(0), 0.5F);
  EXPECT_FLOAT_EQ(sums.deviation(0), 0.5F);
}

TEST(Fingerprint, IsOfTheTargetsTheirShapeAndTheOffsets) {
  std::set<std::uint64_t> seen;
  const auto add = [&](std::vector<float> targets, std::size_t outputs, Shape shape,
                       Offsets offsets = {}) {
    Samples samples{.shape = shape, .outputs = outputs};
    samples.targets = std::move(targets);
    samples.offsets = std::move(offsets);
    seen.insert(fingerprint_of(samples));
  };
  add({1, 2}, 1, {3, 1, 1});
  add({1, 3}, 1, {3, 1, 1});
  add({1, 2}, 2, {3, 1, 1});
  add({1, 2}, 1, {1, 3, 1});
  add({1, 2}, 1, {3, 1, 1}, {{5, 0, 0}, {}});
  add({1, 2}, 1, {3, 1, 1}, {{}, {5}});
  EXPECT_EQ(seen.size(), 6u);
}

}  // namespace
}  // namespace detol

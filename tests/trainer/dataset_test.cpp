#include "trainer/data/dataset.h"

#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace detol

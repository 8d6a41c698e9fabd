#include "trainer/data/dataset.h"

#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Parts, HaveEveryImageOnceAndNoneInCommon) {
  const DatasetInfo info{.task = {}, .training = 5, .validation = 3, .test = 2};
  std::vector<Part> part_of_image;
  for (const Part part : {Part::kTraining, Part::kValidation, Part::kTest}) {
    const Range range = range_of(info, part);
    EXPECT_EQ(range.first, std::ssize(part_of_image));
    part_of_image.insert(part_of_image.end(), static_cast<std::size_t>(range.count), part);
  }
  EXPECT_EQ(part_of_image.size(), 10u);
  EXPECT_EQ(part_of_image[4], Part::kTraining);
  EXPECT_EQ(part_of_image[5], Part::kValidation);
  EXPECT_EQ(part_of_image[8], Part::kTest);
}

}  // namespace
}  // namespace detol

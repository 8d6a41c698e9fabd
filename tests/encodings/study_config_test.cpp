// The space file, from its text to a study and its candidates.

#include "encodings/study_config.h"

#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

const std::string kCnn = std::string(DETOL_SOURCE_DIR) + "/configs/cnn.yaml";
const Task kFashion{{1, 28, 28}, 10};

StudyConfig load_cnn(const std::vector<Override>& overrides = {}) {
  auto study = read_study_config(kCnn, overrides);
  EXPECT_TRUE(study) << study.error().message;
  return study.value_or(StudyConfig{});
}

TEST(CnnSpace, HasTheChoicesOfItsFile) {
  const StudyConfig study = load_cnn();
  std::vector<std::string> names;
  for (const Domain& domain : study.space.domains()) names.push_back(domain.name);
  EXPECT_EQ(names.front(), "architecture.stem.channels");
  EXPECT_EQ(study.space.size(), 1 + 3 * 4 + 1 + 5);
  EXPECT_TRUE(study.space.index_of("architecture.stages[2].block.expansion"));
  EXPECT_TRUE(study.space.index_of("lr"));
  EXPECT_EQ(study.max_epochs, 9);
}

TEST(CnnSpace, EverySampleIsACandidateOrRefusedWithNumbers) {
  const StudyConfig study = load_cnn();
  int made = 0;
  for (std::uint64_t n = 0; n < 300; ++n) {
    Rng rng = Rng(1).split(n);
    const auto candidate = study.candidate(study.space.sample(rng), kFashion);
    if (candidate) {
      ++made;
      EXPECT_EQ(candidate->network.output().shape, (Shape{10, 1, 1}));
    } else {
      EXPECT_EQ(candidate.error().cause, Cause::kTooLarge) << candidate.error().reason;
    }
  }
  EXPECT_GT(made, 100);
}

}  // namespace
}  // namespace detol

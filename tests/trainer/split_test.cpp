// How samples become parts, asked of the splitter itself.

#include "trainer/data/split.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

// Returns the samples of the validation part, of data with a test part of their own.
std::vector<std::size_t> validated(const DataConfig& config, std::int64_t samples,
                                   const SplitKeys& keys = {}) {
  const auto split = split_samples(config, samples, {.validation = {}, .test = 5}, keys).value();
  EXPECT_EQ(split.training + split.validation, samples);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < split.position.size(); ++i) {
    if (split.position[i] >= split.training) found.push_back(i);
  }
  EXPECT_EQ(std::ssize(found), split.validation);
  return found;
}

DataConfig split_by(const char* by, double validation = 0.2) {
  DataConfig config;
  config.validation = validation;
  config.split.by = by;
  return config;
}

TEST(Split, FoldsCoverEverySampleOnceAlsoWhereTheyDoNotDivideThem) {
  DataConfig config = split_by("random");
  config.split.folds = 3;
  std::vector<std::size_t> all, sizes, expected(11);
  for (config.split.fold = 0; config.split.fold < 3; ++config.split.fold) {
    const auto fold = validated(config, 11);
    all.insert(all.end(), fold.begin(), fold.end());
    sizes.push_back(fold.size());
  }
  std::ranges::sort(all);
  std::ranges::sort(sizes);
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  EXPECT_EQ(all, expected);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 4, 4}));
}

// Four groups of ten: 28 and 32 are nearest to a cut at 30, and 24 to one at 20.
TEST(Split, IsCutBetweenGroupsNextToTheShareThatIsAskedFor) {
  SplitKeys keys;
  for (std::int32_t i = 0; i < 40; ++i) keys.groups.push_back(i % 4);
  for (const auto& [share, held_out] : {std::pair{0.3, 10u}, {0.2, 10u}, {0.4, 20u}})
    EXPECT_EQ(validated(split_by("group", share), 40, keys).size(), held_out) << share;
}

TEST(Split, DrawsTheGroupsThatItHoldsOut) {
  SplitKeys keys;
  for (std::int32_t i = 0; i < 40; ++i) keys.groups.push_back(i % 4);
  std::set<std::size_t> groups;
  DataConfig config = split_by("group");
  for (config.split.seed = 1; config.split.seed <= 20; ++config.split.seed)
    groups.insert(validated(config, 40, keys).front() % 4);
  EXPECT_EQ(groups.size(), 4u);
}

TEST(Split, OfClassesHoldsOutTheShareOfEach) {
  SplitKeys keys;
  for (std::int32_t i = 0; i < 100; ++i) keys.classes.push_back(i % 10 == 0 ? 1 : 0);
  const auto found = validated(split_by("stratified"), 100, keys);
  EXPECT_EQ(found.size(), 20u);
  EXPECT_EQ(std::ranges::count_if(found, [](std::size_t i) { return i % 10 == 0; }), 2);
}

TEST(Split, ByTimeHoldsOutTheNewestAndOfEqualOnesTheLast) {
  SplitKeys keys{.times = {3, 9, 1, 9, 9, 2, 0, 5, 4, 6}};
  EXPECT_EQ(validated(split_by("time"), 10, keys), (std::vector<std::size_t>{3, 4}));
}

TEST(Split, TenthsAreOfTheRanksOfTheFirstTarget) {
  std::vector<float> targets;
  for (int i = 0; i < 20; ++i) {
    targets.push_back(static_cast<float>(100 - i));
    targets.push_back(static_cast<float>(i));
  }
  const auto tenths = tenths_of(targets, 2);
  ASSERT_EQ(tenths.size(), 20u);
  for (std::int32_t i = 0; i < 20; ++i)
    EXPECT_EQ(tenths[static_cast<std::size_t>(i)], 9 - i / 2) << i;
}

TEST(Split, AClassOfTheValidationPartAloneHasNoImageToTrainOn) {
  const SplitAssignment split{.training = 3, .validation = 1, .position = {0, 1, 3, 2}};
  EXPECT_EQ(class_without_images(split, std::vector<std::int32_t>{0, 1, 2, 0}, 3), 2);
  EXPECT_EQ(class_without_images(split, std::vector<std::int32_t>{0, 1, 1, 2}, 3), std::nullopt);
}

TEST(Split, EverySettingButTheUsualOnesIsPartOfTheFingerprint) {
  std::set<std::uint64_t> seen = {with_split(1, {})};
  EXPECT_EQ(*seen.begin(), 1u);
  SplitConfig split;
  split.seed = 1;
  seen.insert(with_split(1, split));
  split.by = "stratified";
  seen.insert(with_split(1, split));
  split.folds = 3;
  seen.insert(with_split(1, split));
  split.fold = 1;
  seen.insert(with_split(1, split));
  split.column = "when";
  seen.insert(with_split(1, split));
  EXPECT_EQ(seen.size(), 6u);
}

}  // namespace
}  // namespace detol
